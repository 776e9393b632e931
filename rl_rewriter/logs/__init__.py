"""The decision log: what was decided, with what propensity, and what came of it."""
