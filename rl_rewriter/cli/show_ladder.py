"""What stands at the end of a fit's ladder, in words and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import Console

if TYPE_CHECKING:
    from rl_rewriter.training.ladder.report import LadderReport

_RUNGS = {
    "keep": "every query stays as it is",
    "single": "the best single action, for every query",
    "same_for_all": "a blend of the same weights for every query",
    "by_query": "a blend of weights by query",
}


def ladder_record(report: LadderReport | None) -> dict[str, Any] | None:
    """The object that ``train --json`` prints as "ladder"."""
    return None if report is None else asdict(report)


def ladder(console: Console, report: LadderReport | None, *, by_credit: bool = False) -> None:
    """What stands, and the comparisons that say why.

    Args:
        console: Where it is printed.
        report: What was learned; None prints nothing.
        by_credit: Whether values are estimates, which tell means and not who falls below keep.
    """
    if report is None:
        return
    chosen = ", and a choice by query around it" if report.chooses else ""
    strength = f" at strength {report.strength:g}" if report.strength not in (0.0, 1.0) else ""
    share = report.served_share
    gated = f", served to {share:.0%} of them" if 0.0 < share < 1.0 else ""
    hurt = "" if by_credit else f"{report.served_hurt:.0%} of "
    below = "" if by_credit else " below keep"
    console.print(
        f"what stands: {_RUNGS[report.rung]}{chosen}{strength}{gated}; {hurt}{report.n_queries} "
        f"queries{below}"
    )
    taken = [step for step in report.steps if step.taken]
    for step in taken[-1:] or report.steps[-1:]:
        console.print(f"  {step.in_words}")
    for message in filter(None, (report.on_limit, *report.messages[-1:])):
        console.print(f"  {message}")
