"""What a blend weighs, in words."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.markup import escape

_VIEWS = {
    "query": "the query",
    "expanded": "the query with words of the first documents",
    "first_3": "the first 3 documents",
    "fused_3": "the best 3 documents of both rankings",
    "fused_5": "the best 5 documents of both rankings",
    "bm25_3": "the first 3 documents of BM25",
    "history_in_front": "the query behind the first and last question",
    "last_answer": "the last answer",
    "words": "BM25 of the query",
    "words_expanded": "BM25 of the query with words of the first documents",
    "words_of_history": "BM25 of the query behind the first and last question",
    "words_alike": "BM25 of the query with words spelt alike",
    "words_of_history_alike": "BM25 of the same behind the first and last question",
}
_SHOWN = 0.005


def weights(console: Console, views: Mapping[str, float]) -> None:
    """What each view weighs, the heaviest first."""
    ranked = sorted(views.items(), key=lambda entry: -entry[1])
    told = [f"{w:.2f} {escape(_VIEWS.get(name, name))}" for name, w in ranked if w >= _SHOWN]
    if told:
        console.print("  blended: " + ", ".join(told))
