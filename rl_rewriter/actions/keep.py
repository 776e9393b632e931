"""The do-nothing action."""

from __future__ import annotations

from dataclasses import dataclass

from rl_rewriter.actions.base import KEEP
from rl_rewriter.types import Evidence, Needs, Rewrite


@dataclass(frozen=True)
class Keep:
    """Sends the query as it is."""

    name: str = KEEP
    strength: float = 0.0
    needs: Needs = Needs.NOTHING

    def rewrite(self, evidence: Evidence) -> Rewrite:
        """The query, untouched."""
        return Rewrite.keep(evidence.query)
