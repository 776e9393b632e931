"""Lists of a world whose relevant documents are known, and what they earned."""

from __future__ import annotations

import numpy as np

from rl_rewriter.policies.protocols import Values
from rl_rewriter.training.blend.pools import Pools
from rl_rewriter.training.credit.slates import DEPTH, DISCOUNTS, Slates


def slates_about(
    pools: Pools, n_lists: int, *, noise: float = 0.0, seed: int = 0, depth: int = DEPTH
) -> Slates:
    """Each query's list by random weights, ``n_lists`` times; rewards are DCG and noise."""
    rng = np.random.default_rng(seed)
    n, _, v = pools.scores.shape
    rows = np.repeat(np.arange(n), n_lists)
    weights = rng.dirichlet(np.ones(v), len(rows))
    scores = np.einsum("dpv,dv->dp", pools.scores[rows], weights)
    places = np.argsort(-scores, axis=1, kind="stable")[:, :DEPTH].astype(np.int32)
    places[:, depth:] = -1
    rewards = dcg(pools, rows, places) + noise * rng.standard_normal(len(rows))
    return Slates(rows, places, rewards, np.ones(len(rows)))


def dcg(pools: Pools, rows: np.ndarray, places: np.ndarray) -> Values:
    gains = np.where(places >= 0, pools.gains[rows[:, None], places], 0.0)
    return np.asarray(gains @ DISCOUNTS, dtype=np.float64)


def shown_in(slates: Slates, pools: Pools) -> np.ndarray:
    """Which candidates some list shows, ``(n, p)``."""
    found = np.zeros(pools.mask.shape, dtype=np.bool_)
    decision, rank = np.nonzero(slates.places >= 0)
    found[slates.rows[decision], slates.places[decision, rank]] = True
    return found
