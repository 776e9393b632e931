"""Environments: one decision an episode, batched at the core, Gymnasium at the face."""
