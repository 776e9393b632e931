"""Honest comparisons: held-out, paired, with intervals."""
