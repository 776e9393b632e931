"""The Protocol that every action follows."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from rl_rewriter.types import Evidence, Needs, Rewrite

KEEP = "keep"
"""Name of the do-nothing action."""


@runtime_checkable
class Action(Protocol):
    """One way to turn a query into what is searched.

    A class of your own needs these three attributes and one method; a frozen dataclass is the
    shortest form. Its ``name`` should say its settings, since it names the action in checkpoints,
    logs and tables.
    """

    @property
    def name(self) -> str:
        """Unique name, settings included, such as ``"keywords@0.5"``."""
        ...

    @property
    def strength(self) -> float:
        """How far from the query: 0 keeps, 1 replaces."""
        ...

    @property
    def needs(self) -> Needs:
        """What must be available; the action is masked where it isn't."""
        ...

    def rewrite(self, evidence: Evidence) -> Rewrite | None:
        """Build the rewrite from what is known about the query.

        Returns:
            The rewrite, or None where this query gives nothing to work with: it is kept then.
        """
        ...


def strength_suffix(strength: float) -> str:
    """The part of a name that says the strength: nothing at full strength."""
    return "" if strength >= 1.0 else f"@{strength:g}"


def blend_needs(strength: float) -> Needs:
    """A partial strength needs a retriever that can search a mix of texts."""
    return Needs.NOTHING if strength >= 1.0 else Needs.BLEND
