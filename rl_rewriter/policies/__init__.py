"""Policies act: a distribution over actions for each state, and how to save one."""
