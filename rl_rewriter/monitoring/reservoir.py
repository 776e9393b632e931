"""Samples of a stream in bounded memory: of a whole, and of its first and last part."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rl_rewriter.monitoring.seen import Seen

_AHEAD = 4096
_SEGMENTS = 64


class Reservoir:
    """An even sample of all that was added (algorithm R: Vitter, 1985).

    Args:
        capacity: Rows that are kept.
        rng: What decides.

    Attributes:
        n: Rows that were added.
        rows: Those that are kept.
        first: Time of the earliest row that was added.
        last: Time of the latest.
    """

    def __init__(self, capacity: int, rng: np.random.Generator) -> None:
        self.n = 0
        self.rows: list[Seen] = []
        self.first, self.last = math.inf, -math.inf
        self._capacity, self._rng = capacity, rng
        self._drawn: list[float] = []

    def add(self, row: Seen) -> None:
        """Take in one row, or let it go."""
        self.n += 1
        self.first, self.last = min(self.first, row.time), max(self.last, row.time)
        if len(self.rows) < self._capacity:
            self.rows.append(row)
            return
        if not self._drawn:
            self._drawn = self._rng.random(_AHEAD).tolist()
        place = int(self._drawn.pop() * self.n)
        if place < self._capacity:
            self.rows[place] = row

    def together(self, other: Reservoir) -> Reservoir:
        """A sample of both, which stand for equally many rows."""
        found = Reservoir(self._capacity, self._rng)
        found.n = self.n + other.n
        found.first, found.last = min(self.first, other.first), max(self.last, other.last)
        both = [*self.rows, *other.rows]
        size = min(self._capacity, len(both))
        chosen = self._rng.choice(len(both), size, replace=False)
        found.rows = [both[place] for place in sorted(chosen.tolist())]
        return found


class Timeline:
    """A stream in consecutive parts of equal length, each sampled; the parts grow as it does.

    So the first half and the last quarter can be named in one pass, when nobody knows yet how much
    will come. There are at most 128 parts.

    Args:
        rng: What decides what is kept.
        kept: Rows that are kept of each part.
    """

    def __init__(self, rng: np.random.Generator, kept: int = 250) -> None:
        self._rng, self._kept, self._length = rng, kept, 1
        self._parts: list[Reservoir] = []

    @property
    def n(self) -> int:
        """Rows that were added."""
        return sum(part.n for part in self._parts)

    def add(self, row: Seen) -> None:
        """Take in the next row."""
        if not self._parts or self._parts[-1].n >= self._length:
            if len(self._parts) >= 2 * _SEGMENTS:
                pairs = zip(self._parts[::2], self._parts[1::2], strict=True)
                self._parts = [first.together(second) for first, second in pairs]
                self._length *= 2
            self._parts.append(Reservoir(self._kept, self._rng))
        self._parts[-1].add(row)

    def part(self, start: float, end: float) -> Sequence[Reservoir]:
        """The parts between two shares of what was added, such as 0 and 0.5."""
        n = len(self._parts)
        return self._parts[round(start * n) : round(end * n)]
