"""Random generators for requests: one after the other from one seed, or one a request's own."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from rl_rewriter.errors import InputError
from rl_rewriter.forks import renewed_after_fork

_BITS = (1 << 64) - 1


class Seeds:
    """Hands each request a generator of its own.

    Args:
        seed: Of all of them; None for another sequence in every process.
    """

    def __init__(self, seed: int | None = None) -> None:
        self._sequence = np.random.SeedSequence(seed)
        self._is_given = seed is not None
        self._lock = threading.Lock()
        renewed_after_fork(self)

    def renew(self) -> None:
        """A lock that nobody holds, and another sequence than the parent process has."""
        self._lock = threading.Lock()
        if not self._is_given:
            self._sequence = np.random.SeedSequence()

    def rng(self, seed: int | None = None) -> np.random.Generator:
        """A generator: the same one for the same ``seed``, else the next one."""
        if seed is not None:
            return np.random.default_rng(seed & _BITS)
        return np.random.default_rng(self._next())

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and deepcopy: a copy draws from a seed of its own."""
        return {"_sequence": self._next(), "_is_given": self._is_given}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())
        renewed_after_fork(self)

    def _next(self) -> np.random.SeedSequence:
        with self._lock:
            child: np.random.SeedSequence = self._sequence.spawn(1)[0]
        return child


def checked_seed(seed: int | None) -> int | None:
    """Refuse a seed that is no whole number.

    Raises:
        InputError: It isn't one.
    """
    if seed is None:
        return None
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise InputError(f"a seed must be a whole number, not {type(seed).__name__}")
    return int(seed)
