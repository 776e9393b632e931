"""How much one request may take of our own: time, searches, calls of a language model."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from rl_rewriter.errors import InputError
from rl_rewriter.policies.spending import Caps

GRACE_SECONDS = 0.025
"""What a request that is out of time may still take to be logged and told."""


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Limits of one request. The base retriever's own search isn't ours and isn't limited.

    Attributes:
        seconds: For evidence, features, policy, action, the rewrite's search and the log together;
            None for no limit, and then nothing runs in a thread of its own.
        searches: Searches beside the base retriever's one; None for any number.
        llm_calls: Calls of a language model; None for any number.
    """

    seconds: float | None = 1.0
    searches: int | None = None
    llm_calls: int | None = None

    def __post_init__(self) -> None:
        """Refuse limits that mean nothing."""
        if self.seconds is not None and not 0.0 < self.seconds < math.inf:
            raise InputError(
                f"seconds must be finite and above 0, or None for no limit, got {self.seconds}"
            )
        for name in ("searches", "llm_calls"):
            cap = getattr(self, name)
            if cap is not None and (not isinstance(cap, int) or cap < 0):
                raise InputError(f"{name} must be a whole number from 0, or None, got {cap!r}")

    @property
    def caps(self) -> Caps:
        """What may be spent beside time."""
        return Caps(searches=self.searches, llm_calls=self.llm_calls)


class Deadline:
    """Counts the time that is ours: it runs inside ``with``, and stands still between.

    Args:
        seconds: How much there is; None for any.
        clock: Seconds that only grow.
    """

    def __init__(self, seconds: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._started = 0.0
        self.spent = 0.0

    @property
    def remaining(self) -> float | None:
        """Seconds that are left, never below 0; None without a limit."""
        return None if self._seconds is None else max(0.0, self._seconds - self.spent)

    @property
    def with_grace(self) -> float | None:
        """What is left, or a little where nothing is."""
        left = self.remaining
        return None if left is None else max(left, GRACE_SECONDS)

    def __enter__(self) -> None:
        """Start the clock."""
        self._started = self._clock()

    def __exit__(self, *_: object) -> None:
        """Stop it."""
        self.spent += self._clock() - self._started
