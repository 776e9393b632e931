"""A world whose best blend is known, and settings that learn it fast."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rl_rewriter.rewards.reward import Table
from rl_rewriter.training.blend.config import (
    BlendConfig,
    ByQueryConfig,
    FineTuneConfig,
    ListwiseConfig,
)
from rl_rewriter.training.blend.objective import Batch, Judge
from rl_rewriter.training.blend.pools import Pools
from rl_rewriter.training.ladder.config import LadderConfig
from rl_rewriter.types import Matrix, Vector

FAST = BlendConfig(
    listwise=ListwiseConfig(steps=50, batch_size=100, learning_rate=0.1),
    by_query=ByQueryConfig(pulls=(0.1, 0.5), hidden=8, members=2, steps=40, learning_rate=0.04),
    fine_tune=FineTuneConfig(steps=16, batch_size=64, samples=4),
)
LADDER = LadderConfig(folds=3)
UNTUNED = replace(FAST, fine_tune=replace(FAST.fine_tune, steps=0))
SAME_FOR_ALL = replace(UNTUNED, by_query=replace(FAST.by_query, pulls=()))
VIEWS = ("query", "left", "right", "words")
N_DOCUMENTS = 30


@dataclass(frozen=True, eq=False)
class World:
    """Queries of two kinds, each with one relevant document.

    Attributes:
        pools: The query finds it by luck and a little more, "left" finds it for one kind, "right"
            for the other, "words" never.
        states: The first column tells the kind, the second is noise.
        groups: One a query.
        single_values: Keep, and each of the other views alone.
    """

    pools: Pools
    states: Matrix
    groups: tuple[str, ...]
    single_values: Table


def world(
    n: int,
    *,
    seed: int = 0,
    help_of_views: float = 2.5,
    help_of_query: float = 1.0,
    tells_kind: bool = True,
) -> World:
    """Draw ``n`` queries."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(2, size=n)
    relevant = rng.integers(N_DOCUMENTS, size=n)
    scores = rng.standard_normal((n, N_DOCUMENTS, len(VIEWS))).astype(np.float32)
    rows = np.arange(n)
    scores[rows, relevant, 0] += help_of_query
    scores[rows, relevant, 1 + kind] += help_of_views
    gains = np.zeros((n, N_DOCUMENTS), dtype=np.float32)
    gains[rows, relevant] = 1.0
    pools = Pools(
        views=VIEWS,
        is_lexical=np.asarray([False, False, False, True]),
        scores=scores,
        mask=np.ones((n, N_DOCUMENTS), dtype=np.bool_),
        gains=gains,
        ideal=np.ones((n, 1)),
        n_relevant=np.ones(n),
        present=np.ones((n, len(VIEWS)), dtype=np.bool_),
        floors=np.full((n, len(VIEWS)), -3.0, dtype=np.float32),
        documents=tuple(f"d{place}" for place in range(N_DOCUMENTS)),
        candidates=np.tile(np.arange(N_DOCUMENTS, dtype=np.int32), (n, 1)),
    )
    states = rng.standard_normal((n, 2)).astype(np.float32)
    if tells_kind:
        states[:, 0] = 2.0 * kind - 1.0 + 0.1 * states[:, 0]
    groups = tuple(f"group {row}" for row in rows)
    return World(pools, states, groups, _alone(pools, states))


def gateable(n: int, *, seed: int = 0) -> World:
    """A world whose second column tells who needs help and who finds all by the query alone."""
    drawn = world(n, seed=seed, help_of_query=0.5)
    rng = np.random.default_rng(seed + 1)
    finds_all = rng.random(n) < 0.4
    rows = np.flatnonzero(finds_all)
    relevant = drawn.pools.gains.argmax(axis=1)[rows]
    scores = drawn.pools.scores.copy()
    scores[rows, relevant, 0] += 4.0
    scores[rows, relevant, 1:] -= 2.0
    states = drawn.states.copy()
    states[:, 1] = 2.0 * finds_all - 1.0 + 0.3 * rng.standard_normal(n)
    pools = replace(drawn.pools, scores=scores)
    return World(pools, states, drawn.groups, _alone(pools, states))


def judge_of(pools: Pools, states: Matrix | None = None, *, scales: Vector | None = None) -> Judge:
    """What tells the worth of weights, states as they are, scores scaled by their own ranges."""
    if states is None:
        states = np.zeros((len(pools), 1), dtype=np.float32)
    scaled_by = pools.scales() if scales is None else scales
    return Judge(pools, Batch.of(pools, scaled_by, states), FAST.metric)


def _alone(pools: Pools, states: Matrix) -> Table:
    """What each view is worth alone, ``(n, v)``."""
    judge, rows = judge_of(pools, states), np.arange(len(pools))
    each = [np.tile(row, (len(rows), 1)) for row in np.eye(len(VIEWS), dtype=np.float32)]
    return np.stack([judge.values(rows, one) for one in each], axis=1)
