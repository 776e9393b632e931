"""Brings earlier turns of the conversation into the search, as a blend or in front of the query."""

from __future__ import annotations

from dataclasses import dataclass

from rl_rewriter.actions.base import strength_suffix
from rl_rewriter.text.history_parts import Part, in_front, parts_of_history
from rl_rewriter.types import Evidence, Needs, Rewrite


@dataclass(frozen=True)
class BringIn:
    """Blends the query with part of the conversation.

    Attributes:
        part: Which turns: the last user turn, the last answer, the first and the last user turn,
            all user turns, everything as one text, or each turn as a text of its own.
        strength: Their weight, shared evenly where there are several texts.
    """

    part: Part
    strength: float

    @property
    def name(self) -> str:
        """``history_<part>@<strength>``."""
        return f"history_{self.part}{strength_suffix(self.strength)}"

    @property
    def needs(self) -> Needs:
        """Earlier turns, and a mix of texts where there can be more than one."""
        is_mix = self.strength < 1.0 or self.part == "each_turn"
        return Needs.HISTORY | (Needs.BLEND if is_mix else Needs.NOTHING)

    def rewrite(self, evidence: Evidence) -> Rewrite | None:
        """The weighted texts; None where that part of the history is empty."""
        texts = parts_of_history(evidence.query, self.part)
        if not texts:
            return None
        shares = (self.strength / len(texts),) * len(texts)
        if self.strength >= 1.0:
            return Rewrite(texts=tuple(texts), weights=shares)
        return Rewrite(texts=(evidence.query.text, *texts), weights=(1.0 - self.strength, *shares))


@dataclass(frozen=True)
class HistoryInFront:
    """Puts part of the conversation before the query, as one text any retriever can search.

    Attributes:
        part: Which turns (see :class:`BringIn`).
        fusion: BM25's share of the fused score; 0 for no fusion.
    """

    part: Part
    fusion: float = 0.0
    strength: float = 1.0

    @property
    def name(self) -> str:
        """``history_<part>_in_front``, with the share of BM25 where there is one."""
        fused = f"+bm25@{self.fusion:g}" if self.fusion else ""
        return f"history_{self.part}_in_front{fused}"

    @property
    def needs(self) -> Needs:
        """Earlier turns, and BM25 where it is fused."""
        return Needs.HISTORY | (Needs.LEXICAL if self.fusion else Needs.NOTHING)

    def rewrite(self, evidence: Evidence) -> Rewrite | None:
        """One text; None where that part of the history is empty."""
        joined = in_front(evidence.query, self.part)
        return Rewrite(texts=(joined,), lexical_weight=self.fusion) if joined else None
