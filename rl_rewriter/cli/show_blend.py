"""What was learned of blends, and what one of them weighs, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape

if TYPE_CHECKING:
    from rl_rewriter.training.blend.report import BlendReport

_RUNGS = {
    "keep": "every query stays as it is",
    "single": "the best single action, for every query",
    "same_for_all": "a blend of the same weights for every query",
    "by_query": "a blend of weights by query",
}
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


def blend_record(report: BlendReport | None) -> dict[str, Any] | None:
    """The object that ``train --json`` prints as "blend"."""
    return None if report is None else asdict(report)


def blend(console: Console, report: BlendReport | None, *, by_credit: bool = False) -> None:
    """What stands, and the comparisons that say why.

    Args:
        console: Where it is printed.
        report: What was learned; None prints nothing.
        by_credit: Whether values are estimates, which tell means and not who falls below keep.
    """
    if report is None:
        return
    strength = f" at strength {report.strength:g}" if report.strength not in (0.0, 1.0) else ""
    share = report.served_share
    gated = f", served to {share:.0%} of them" if 0.0 < share < 1.0 else ""
    hurt = "" if by_credit else f"{report.served_hurt:.0%} of "
    below = "" if by_credit else " below keep"
    console.print(
        f"what stands: {_RUNGS[report.rung]}{strength}{gated}; {hurt}{report.n_queries} "
        f"queries{below}"
    )
    taken = [step for step in report.steps if step.taken]
    for step in taken[-1:] or report.steps[-1:]:
        console.print(f"  {step.in_words}")
    for message in filter(None, (report.on_limit, *report.messages[-1:])):
        console.print(f"  {message}")


def weights(console: Console, views: Mapping[str, float]) -> None:
    """What each view weighs, the heaviest first."""
    ranked = sorted(views.items(), key=lambda entry: -entry[1])
    told = [f"{w:.2f} {escape(_VIEWS.get(name, name))}" for name, w in ranked if w >= _SHOWN]
    if told:
        console.print("  blended: " + ", ".join(told))
