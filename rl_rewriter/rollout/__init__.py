"""Bringing a policy into service step by step, and out of it at once."""
