"""Kinds of queries, for figures by kind: those that the data tell, or plain ones by form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rl_rewriter.text.tokens import cjk_share
from rl_rewriter.types import Query

_CJK_FROM = 0.3
"""Share of CJK characters from which length is counted in characters."""
_WORDS = (3, 8)
_CHARACTERS = (6, 16)
"""Ends of the first and second band of length: a Chinese word has about two characters."""


def kinds_of(queries: Sequence[Query], told: Mapping[str, str]) -> tuple[str, ...]:
    """One kind a query.

    Args:
        queries: The queries.
        told: Query id -> kind, as far as the data tell. Where they tell none of these queries'
            kind, all get a plain one (:func:`plain_kind`); where they tell some, the rest is "".
    """
    if not any(told.get(query.id) for query in queries):
        return tuple(plain_kind(query) for query in queries)
    return tuple(told.get(query.id, "") for query in queries)


def plain_kind(query: Query) -> str:
    """What anyone can tell of a query: its length, and whether it follows earlier turns.

    Such as "4-8 words", or "follow-up, 9+ words"; Chinese and Japanese are counted in characters.
    """
    text = "".join(query.text.split())
    if cjk_share(text) > _CJK_FROM:
        length = _band(len(text), _CHARACTERS, "characters")
    else:
        length = _band(len(query.text.split()), _WORDS, "words")
    return f"follow-up, {length}" if query.history else length


def _band(length: int, ends: tuple[int, int], unit: str) -> str:
    first, second = ends
    if length <= first:
        return f"1-{first} {unit}"
    return f"{first + 1}-{second} {unit}" if length <= second else f"{second + 1}+ {unit}"
