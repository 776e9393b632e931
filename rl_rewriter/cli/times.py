"""Spans of time as people write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rl_rewriter.errors import InputError

if TYPE_CHECKING:
    from rl_rewriter.logs.window import Window


def seconds_named(name: str, text: str) -> float:
    """Seconds since the epoch.

    Args:
        name: Of the option.
        text: A date, a time, or seconds; UTC where it says nothing else.

    Raises:
        InputError: It is none of them.
    """
    from rl_rewriter.logs.importers.scalars import seconds_of

    seconds = seconds_of(text)
    if seconds is None:
        raise InputError(
            f"--{name.replace('_', '-')} must be a date, a time or seconds since 1970, such as "
            f"2026-01-31 or 2026-01-31T18:00, got {text!r}"
        )
    return seconds


def window_of(**ends: str | None) -> Window | None:
    """The span between two options, whose names end with "since" and "until"; None for neither.

    Raises:
        InputError: One can't be read, or nothing lies between them.
    """
    from rl_rewriter.logs.window import Window

    named = {name: seconds_named(name, text) for name, text in ends.items() if text is not None}
    if not named:
        return None
    return Window(**{name.rpartition("_")[2]: seconds for name, seconds in named.items()})
