"""Lays logged result lists over the candidates of their queries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rl_rewriter.logs.shown import ShownLists
from rl_rewriter.policies.protocols import Values
from rl_rewriter.training.blend.pools import Pools, Rows
from rl_rewriter.training.credit.slates import DEPTH, Slates


def slates_of(
    shown: ShownLists,
    decisions: Rows,
    queries: Sequence[int],
    pools: Pools,
    rewards: Values,
    weights: Values | None = None,
) -> Slates:
    """What some decisions showed, as places in pools.

    Args:
        shown: What all ``n`` decisions asked and showed.
        decisions: Those that are wanted, each about one of ``queries``.
        queries: Numbers of the pools' queries among those of ``shown``.
        pools: Their candidates.
        rewards: Of all decisions, ``(n,)``.
        weights: What all decisions count for, ``(n,)``; alike by default.
    """
    row_of = {query: row for row, query in enumerate(queries)}
    rows = np.asarray([row_of[query] for query in shown.rows[decisions].tolist()], dtype=np.intp)
    number = {id_: place for place, id_ in enumerate(pools.documents)}
    known = np.asarray([number.get(id_, -2) for id_ in shown.documents] + [-2], dtype=np.int32)
    listed = known[shown.lists[decisions][:, :DEPTH]]
    places = np.full(listed.shape, -1, dtype=np.int32)
    order = np.argsort(rows, kind="stable")
    for part in np.split(order, np.flatnonzero(np.diff(rows[order])) + 1):
        if len(part):
            places[part] = _places(pools.candidates[rows[part[0]]], listed[part])
    counts = np.ones(len(decisions)) if weights is None else weights[decisions]
    return Slates(rows, places, rewards[decisions], counts)


def _places(candidates: np.ndarray, listed: np.ndarray) -> np.ndarray:
    """Where among the candidates ``(p,)`` listed documents stand; -1 where they don't."""
    order = np.argsort(candidates, kind="stable")
    ordered = candidates[order]
    at = np.minimum(np.searchsorted(ordered, listed), len(ordered) - 1)
    return np.where((ordered[at] == listed) & (listed >= 0), order[at], -1).astype(np.int32)
