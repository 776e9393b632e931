"""Trainers learn: from an environment's outcomes to a policy."""
