"""Learns the weights of a blend from judged queries: as little complexity as pays."""
