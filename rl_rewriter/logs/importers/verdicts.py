"""The number in a tool's feedback, where it has one."""

from __future__ import annotations

from typing import Any

from rl_rewriter.logs.importers.found import Found, Noted, Skipped, Verdict
from rl_rewriter.logs.importers.scalars import label_value, number_of

LABELS_READ = "feedback labels read as 1 or 0"
NO_NUMBER = "feedback without a number"


def verdict_of(verdict: Verdict, score: Any, label: Any = None) -> list[Found]:
    """The verdict with its number: the score, else a label of a clear meaning.

    Args:
        verdict: All but the number.
        score: The tool's number, where there is one.
        label: The tool's word for it.
    """
    if not verdict.name:
        return [Skipped("feedback without a name", "is feedback without a name")]
    value = number_of(score)
    if value is not None:
        return [verdict._replace(value=value)]
    value = label_value(label)
    if value is None:
        return [Skipped(NO_NUMBER)]
    return [verdict._replace(value=value), Noted(LABELS_READ)]
