"""A few marks of many decisions, by which a log can be recognised later."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable

N_MARKS = 256


def marks_of(decision_ids: Iterable[str]) -> tuple[str, ...]:
    """The smallest hashes of the ids (a bottom-k sketch: Broder, 1997), at most 256 of them.

    Two logs that share a part of their decisions share about that part of their marks, however
    they are cut and joined.
    """
    return tuple(heapq.nsmallest(N_MARKS, {_mark(name) for name in decision_ids}))


def share_known(decision_ids: Iterable[str], marks: Iterable[str]) -> float:
    """Share of the marks whose decisions are among these, 0 where there are no marks."""
    wanted = set(marks)
    if not wanted:
        return 0.0
    return len(wanted & {_mark(name) for name in decision_ids}) / len(wanted)


def _mark(name: str) -> str:
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
