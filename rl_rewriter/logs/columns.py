"""Columns that grow a row at a time, at the size of the numbers in them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from rl_rewriter.types import Matrix

Integers = npt.NDArray[np.intp]
MAX_SCHEMAS = 100


def numbered(names: Sequence[str]) -> Integers:
    """Number of each name among all of them in alphabetical order, ``(n,)``.

    No array of text is made, which takes the length of the longest name for every one.
    """
    places = {name: place for place, name in enumerate(sorted(set(names)))}
    return np.fromiter((places[name] for name in names), np.intp, len(names))


class Ragged:
    """Rows of integers of any length, one behind the other.

    Args:
        type_code: Their size, as for :class:`array.array`.

    Attributes:
        codes: All integers.
        ends: Where each row ends.
    """

    def __init__(self, type_code: Literal["h", "q"]) -> None:
        self.codes = array(type_code)
        self.ends = array("q")

    def append(self, codes: Iterable[int]) -> None:
        """Add one row."""
        self.codes.extend(codes)
        self.ends.append(len(self.codes))

    def row(self, number: int) -> array[int]:
        """One row."""
        return self.codes[self.ends[number - 1] if number else 0 : self.ends[number]]


class States:
    """State vectors, apart by the columns that they have."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, int], array[float]] = {}
        self._rows: dict[tuple[str, int], array[int]] = {}

    def append(self, row: int, state: list[float] | None, schema: str) -> None:
        """Take in the state of one row; beyond a hundred sets of columns it is forgotten."""
        if not state:
            return
        key = (schema, len(state))
        if key not in self._rows:
            if len(self._rows) >= MAX_SCHEMAS:
                return
            self._values[key], self._rows[key] = array("f"), array("q")
        self._values[key].extend(state)
        self._rows[key].append(row)

    def most_frequent(self) -> tuple[str, Integers, Matrix]:
        """The columns that most rows have: their fingerprint, rows ``(r,)``, states ``(r, d)``.

        Where no row has a state: "", no rows, no columns.
        """
        if not self._rows:
            return "", np.zeros(0, dtype=np.intp), np.zeros((0, 0), dtype=np.float32)
        key = max(self._rows, key=lambda key: len(self._rows[key]))
        states = np.asarray(self._values[key], dtype=np.float32).reshape(-1, key[1])
        return key[0], np.asarray(self._rows[key], dtype=np.intp), states

    @property
    def n_rows(self) -> int:
        """Rows that have a state."""
        return sum(map(len, self._rows.values()))
