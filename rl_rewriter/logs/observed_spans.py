"""Names under which this package's own spans carry a decision, for writers and importers alike."""

from __future__ import annotations

PREFIX = "rl_rewriter."
RECORD = f"{PREFIX}record"
"""Attribute that holds the decision's line of the decision log, as JSON text."""
