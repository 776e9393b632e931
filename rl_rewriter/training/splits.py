"""Splits of queries that keep together what belongs together."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from rl_rewriter.errors import InputError
from rl_rewriter.types import Query


def split_rows(
    groups: Sequence[str], share: float, *, seed: int = 0
) -> tuple[list[int], list[int]]:
    """Rows of whole groups, divided at random.

    Args:
        groups: Name of each row's group, such as its conversation or its need.
        share: Part of the groups that goes into the second list, at least one group each side.
        seed: Seed of the shuffle.

    Returns:
        Rows of the larger and of the smaller part, ascending.

    Raises:
        InputError: There are fewer than two groups.
    """
    names = sorted(set(groups))
    if len(names) < 2:
        raise InputError(
            f"at least two needs or conversations are needed to hold some queries out, got "
            f"{len(names)} for {len(groups)} queries"
        )
    order = np.random.default_rng(seed).permutation(len(names))
    n_second = min(max(1, round(share * len(names))), len(names) - 1)
    second = {names[i] for i in order[:n_second]}
    return (
        [row for row, group in enumerate(groups) if group not in second],
        [row for row, group in enumerate(groups) if group in second],
    )


def conversation_of(query: Query) -> str:
    """A name that queries of one conversation share: a hash of its first turn, or of the text."""
    return _digest(query.history[0].text if query.history else query.text)


def query_fingerprint(query: Query) -> str:
    """Recognises a query that was trained on, whatever its id is elsewhere."""
    return _digest("\0".join([*(turn.text for turn in query.history), query.text]))


def _digest(text: str) -> str:
    content = text.strip().lower().encode("utf-8", "surrogatepass")
    return hashlib.sha256(content).hexdigest()[:16]
