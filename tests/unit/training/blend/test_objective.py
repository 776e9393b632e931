"""The score that is served, and what it is worth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
import torch

from rl_rewriter.rewards.metrics import Metric
from rl_rewriter.training.blend.objective import (
    Batch,
    Judge,
    keep_weights,
    listwise_loss,
    served_scores,
)
from rl_rewriter.training.blend.pools import Pools
from tests.unit.training.blend.parts import judge_of, world

Numbers = npt.NDArray[np.float64]


def three(**changes: object) -> Pools:
    """Two queries with three and two candidates, two dense views and two lexical ones."""
    scores = np.asarray(
        [
            [[1.0, 0.0, 4.0, 0.0], [3.0, 1.0, 0.0, 2.0], [2.0, 5.0, 2.0, 1.0]],
            [[0.5, 0.2, 1.0, 1.0], [0.1, 0.9, 3.0, 0.0], [0.0, 0.0, 0.0, 0.0]],
        ],
        dtype=np.float32,
    )
    pools = Pools(
        views=("query", "other", "words", "more words"),
        is_lexical=np.asarray([False, False, True, True]),
        scores=scores,
        mask=np.asarray([[True, True, True], [True, True, False]]),
        gains=np.asarray([[2.0, 0.0, 1.0], [0.0, 1.0, 0.0]], dtype=np.float32),
        ideal=np.asarray([[2.0, 1.0], [1.0, 0.0]]),
        n_relevant=np.asarray([2.0, 1.0]),
        present=np.ones((2, 4), dtype=np.bool_),
        floors=np.asarray([[1.0, 0.0, 0.0, 0.0], [0.1, 0.2, 0.0, 0.0]], dtype=np.float32),
        documents=("a", "b", "c"),
        candidates=np.asarray([[2, 1, 0], [1, 0, -1]], dtype=np.int32),
    )
    return replace(pools, **changes)  # type: ignore[arg-type]  # names of its fields


def served_by_hand(pools: Pools, row: int, weights: Numbers) -> Numbers:
    """The served form, written out for one query."""

    def min_max(scores: Numbers) -> Numbers:
        spread: Numbers = (scores - scores.min()) / (scores.max() - scores.min())
        return spread

    scaled = weights / pools.scales()
    own, lowest = pools.scores[row, pools.mask[row]] * scaled, pools.floors[row] * scaled
    share = weights[pools.is_lexical].sum()
    dense, words = own[:, ~pools.is_lexical].sum(axis=1), own[:, pools.is_lexical].sum(axis=1)
    floor = lowest[~pools.is_lexical].sum()
    above = np.maximum(dense - floor, 0.0) / (dense.max() - floor)
    found: Numbers = (1 - share) * above + share * min_max(words)
    return found


def test_the_served_score_is_the_fused_sum_of_views() -> None:
    pools = three()
    weights = np.asarray([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]], dtype=np.float32)
    batch = Batch.of(pools, pools.scales(), np.zeros((2, 1), dtype=np.float32))
    scores = served_scores(batch, torch.from_numpy(weights)[:, None])[:, 0].numpy()
    for row in range(2):
        own = scores[row, pools.mask[row]]
        assert own == pytest.approx(served_by_hand(pools, row, weights[row]), abs=1e-6)
    assert scores[1, 2] < -1e8


def test_what_stands_where_no_candidate_is_changes_nothing() -> None:
    pools = three()
    other = pools.scores.copy()
    other[1, 2] = 1e6
    weights = np.full((2, 4), 0.25, dtype=np.float32)
    values = [judge_of(of).values(np.arange(2), weights) for of in (pools, three(scores=other))]
    assert np.array_equal(values[0], values[1])
    assert np.array_equal(pools.scales(), three(scores=other).scales())


@pytest.mark.parametrize("name", ["ndcg@10", "ndcg@2", "mrr@10", "map@20", "recall@5", "hits@3"])
def test_values_are_those_of_the_project_metric(name: str) -> None:
    rng = np.random.default_rng(1)
    pools = world(40, seed=2).pools
    gains = (rng.random(pools.gains.shape) < 0.2) * rng.integers(1, 4, size=pools.gains.shape)
    ideal = -np.sort(-np.concatenate([gains, np.full((40, 1), 2.0)], axis=1), axis=1)
    pools = replace(
        pools,
        gains=gains.astype(np.float32),
        ideal=ideal,
        n_relevant=(ideal > 0).sum(axis=1).astype(np.float64),
    )
    judge = Judge(pools, judge_of(pools).everything, Metric.parse(name))
    weights = rng.dirichlet(np.ones(4), size=40).astype(np.float32)
    rows = np.arange(40)
    values = judge.values(rows, weights)
    sampled = judge.rewards(rows, judge.everything, torch.from_numpy(weights)[:, None])[:, 0]
    assert sampled == pytest.approx(values)
    for row in range(40):
        grades = {str(i): float(g) for i, g in enumerate(gains[row])} | {"not in the pool": 2.0}
        order = np.argsort(-served_by_hand(pools, row, weights[row]), kind="stable")
        assert values[row] == pytest.approx(judge.metric([str(i) for i in order], grades))


def test_ties_fall_to_the_candidate_that_stands_first() -> None:
    tied = three(scores=np.ones_like(three().scores))
    assert judge_of(tied).values(np.arange(2), keep_weights(2, 4)) == pytest.approx(
        [Metric("ndcg", 10)(["a", "b", "c"], {"a": 2, "c": 1}), 1 / np.log2(3)]
    )


def test_keep_is_the_query_alone() -> None:
    drawn = world(50)
    own = np.argsort(-drawn.pools.scores[:, :, 0], axis=1)
    rank = np.argmax(np.take_along_axis(drawn.pools.gains, own, axis=1), axis=1)
    expected = np.where(rank < 10, 1 / np.log2(rank + 2), 0.0)
    assert judge_of(drawn.pools).keep(np.arange(50)) == pytest.approx(expected)


def test_the_loss_prefers_weights_that_put_grades_first() -> None:
    drawn = world(200)
    batch = judge_of(drawn.pools).everything
    losses = [
        float(listwise_loss(batch, torch.tensor([weights]).expand(200, -1), torch.tensor(2.5)))
        for weights in ([0.3, 0.35, 0.35, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0])
    ]
    assert losses == sorted(losses)


def test_queries_without_a_relevant_candidate_teach_nothing() -> None:
    pools = three(gains=np.asarray([[2.0, 0.0, 1.0], [0.0, 0.0, 0.0]], dtype=np.float32))
    weights = torch.full((2, 4), 0.25, requires_grad=True)
    batch = judge_of(pools).everything
    torch.autograd.backward(listwise_loss(batch, weights, torch.tensor(1.0)))
    assert weights.grad is not None
    assert bool(weights.grad[0].any())
    assert not bool(weights.grad[1].any())
