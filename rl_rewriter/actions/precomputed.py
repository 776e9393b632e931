"""Rewrites that were made elsewhere and are only looked up: by a language model, or by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from rl_rewriter.actions.base import blend_needs, strength_suffix
from rl_rewriter.text.digests import digest
from rl_rewriter.types import Evidence, Needs, Query, Rewrite

ARM_PREFIX = "llm:"
"""Begins the names of actions whose rewrites a language model makes or made."""


@dataclass(frozen=True)
class PrecomputedText:
    """One rewrite.

    Attributes:
        text: What is searched.
        llm_calls: Calls of a language model that it took.
    """

    text: str
    llm_calls: int = 1


@dataclass(frozen=True, eq=False)
class ArmTexts:
    """What one arm made of many queries.

    Attributes:
        by_id: Query id -> its rewrite.
        by_words: :func:`words_of` a query -> its rewrite, for queries of another id or of none.
    """

    by_id: Mapping[str, PrecomputedText]
    by_words: Mapping[str, PrecomputedText] = field(default_factory=dict)

    def of(self, query: Query) -> PrecomputedText | None:
        """The rewrite of a query, by its id, else by its words; None where there is none."""
        return self.by_id.get(query.id) or self.by_words.get(words_of(query))

    @cached_property
    def content(self) -> str:
        """Hash of all rewrites: outcomes depend on them."""
        rows = sorted(
            (side, key, made.text, str(made.llm_calls))
            for side, texts in (("id", self.by_id), ("words", self.by_words))
            for key, made in texts.items()
        )
        return digest(part for row in rows for part in row)

    def __eq__(self, other: object) -> bool:
        """Equality of all rewrites."""
        return isinstance(other, ArmTexts) and self.content == other.content

    def __hash__(self) -> int:
        """Hash of all rewrites."""
        return hash(self.content)


@dataclass(frozen=True)
class PrecomputedRewrite:
    """Looks a query's rewrite up.

    Attributes:
        arm: Who made the rewrites, such as "genqr/gpt-4.1".
        texts: The rewrites. They are no part of a saved policy.
        strength: How far toward the rewrite.
    """

    arm: str
    texts: ArmTexts = field(repr=False)
    strength: float = 1.0

    @property
    def name(self) -> str:
        """``llm:<arm>`` with the strength where it is partial."""
        return f"{ARM_PREFIX}{self.arm}{strength_suffix(self.strength)}"

    @property
    def needs(self) -> Needs:
        """A mix of texts where the strength is partial."""
        return blend_needs(self.strength)

    @property
    def llm_calls(self) -> int:
        """None are made for a query: what its rewrites took is told with them."""
        return 0

    @property
    def content(self) -> str:
        """Names the rewrites: outcomes depend on them."""
        return self.texts.content

    def rewrite(self, evidence: Evidence) -> Rewrite | None:
        """The rewrite; None where there is none for this query."""
        query = evidence.query
        found = self.texts.of(query) if self.strength > 0 else None
        if found is None:
            return None
        is_same = found.text == query.text
        made = Rewrite.keep(query) if is_same else Rewrite.blend(query, found.text, self.strength)
        return replace(made, llm_calls=found.llm_calls)


def words_of(query: Query) -> str:
    """What makes two queries the same question: their words and the turns before them."""
    return as_words([*(turn.text for turn in query.history), query.text])


def as_words(texts: list[str]) -> str:
    """Texts without differences of case and white space."""
    return "\n".join(" ".join(text.split()).casefold() for text in texts)
