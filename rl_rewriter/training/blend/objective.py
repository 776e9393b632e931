"""The score of a document as it is served, with gradients, and what it is trained and judged by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rl_rewriter.policies.protocols import Values
from rl_rewriter.rewards.metrics import Metric
from rl_rewriter.rewards.reward import Table
from rl_rewriter.training.blend.pools import Pools, Rows
from rl_rewriter.types import Matrix, Vector

_MASKED = -1e9
_NARROW = 1e-6
_CHUNK = 500


@dataclass(frozen=True, eq=False)
class Batch:
    """Pools of ``b`` queries as tensors.

    Where there is no candidate, the scores of the first one stand, so that ranges are the pool's.

    Attributes:
        dense: Scaled scores of dense views, ``(b, v_d, p)``.
        lexical: Those of lexical views, ``(b, v_l, p)``.
        mask: Where there is a candidate, ``(b, p)``.
        target: What share of the grades each candidate has, ``(b, p)``; all 0 where none has any.
        present: Which views each query has, ``(b, v)``.
        states: Standardised states, ``(b, s)``.
        is_lexical: Which views are lexical, ``(v,)``.
        floors: Scaled scores that documents count for which a search by a dense view lacks,
            ``(b, v_d)``.
    """

    dense: Tensor
    lexical: Tensor
    mask: Tensor
    target: Tensor
    present: Tensor
    states: Tensor
    is_lexical: Tensor
    floors: Tensor

    def __len__(self) -> int:
        """Number of queries."""
        return len(self.mask)

    def rows(self, rows: Tensor) -> Batch:
        """Some of the queries."""
        return Batch(
            self.dense[rows],
            self.lexical[rows],
            self.mask[rows],
            self.target[rows],
            self.present[rows],
            self.states[rows],
            self.is_lexical,
            self.floors[rows],
        )

    @classmethod
    def of(cls, pools: Pools, scales: Vector, states: Matrix) -> Batch:
        """All queries of the pools, scores divided by ``scales`` ``(v,)``."""
        first = pools.mask.argmax(axis=1)
        own = np.take_along_axis(pools.scores, first[:, None, None], axis=1)
        filled = np.where(pools.mask[:, :, None], pools.scores, own) / scales
        by_view = np.ascontiguousarray(filled.transpose(0, 2, 1), dtype=np.float32)
        total = pools.gains.sum(axis=1, keepdims=True)
        lexical = pools.is_lexical
        return cls(
            torch.from_numpy(by_view[:, ~lexical]),
            torch.from_numpy(by_view[:, lexical]),
            torch.from_numpy(pools.mask),
            torch.from_numpy(pools.gains / np.where(total > 0, total, 1.0)),
            torch.from_numpy(pools.present),
            torch.from_numpy(np.asarray(states, dtype=np.float32)),
            torch.from_numpy(lexical),
            torch.from_numpy(np.asarray(pools.floors / scales, dtype=np.float32)[:, ~lexical]),
        )


def served_scores(batch: Batch, weights: Tensor) -> Tensor:
    """Scores that a search by the blend gives, ``(b, k, p)``, very low where no candidate is.

    ``(1 - l) dense + l lexical``: each a weighted sum of views that is min-max normalised, ``l``
    the weight of all lexical views together (Bruch et al., 2023, arXiv 2210.11934). The highest
    scores are those of the pool. The lowest dense score of a search is that of its last document,
    for which those that it lacks count too; it is taken for the weighted sum of what the last
    documents of searches by each view alone score.

    Args:
        batch: The queries.
        weights: For each query ``k`` weightings, ``(b, k, v)``, each summing to 1.
    """
    of_dense = weights[..., ~batch.is_lexical]
    scores = _above(of_dense @ batch.dense, of_dense @ batch.floors[:, :, None])
    if batch.lexical.shape[1]:
        of_words = weights[..., batch.is_lexical]
        share = of_words.sum(dim=-1, keepdim=True)
        scores = (1.0 - share) * scores + share * _min_max(of_words @ batch.lexical)
    return scores.masked_fill(~batch.mask[:, None, :], _MASKED)


def listwise_loss(batch: Batch, weights: Tensor, log_factor: Tensor) -> Tensor:
    """Cross-entropy of the softmax over candidates to their shares of the grades.

    ListNet (Cao et al., 2007) with grades for the target instead of their softmax; the mean over
    the queries that have a relevant candidate.

    Args:
        batch: The queries.
        weights: One weighting a query, ``(b, v)``.
        log_factor: Logarithm of what scores are multiplied by.
    """
    scores = served_scores(batch, weights[:, None])[:, 0] * log_factor.exp()
    log_shares = torch.log_softmax(scores, dim=1).masked_fill(~batch.mask, 0.0)
    judged = batch.target.sum(dim=1) > 0
    return -(batch.target * log_shares).sum() / judged.sum().clamp_min(1)


def weights_of(logits: Tensor, present: Tensor) -> Tensor:
    """Softmax over the present views."""
    return torch.softmax(logits.masked_fill(~present, _MASKED), dim=-1)


@dataclass(frozen=True, eq=False)
class Judge:
    """Tells what weightings are worth by a metric.

    Attributes:
        pools: The queries.
        everything: The same as tensors.
        metric: The metric.
    """

    pools: Pools
    everything: Batch
    metric: Metric

    def rewards(self, rows: Rows, batch: Batch, weights: Tensor) -> Table:
        """Metric of ``k`` weightings a query, ``(b, k)``, ties in any order.

        Args:
            rows: Which queries of the pools these are.
            batch: The queries.
            weights: Shape ``(b, k, v)``.
        """
        scores = served_scores(batch, weights)
        depth = min(self.metric.depth, scores.shape[-1])
        return self._values(rows, scores.topk(depth, dim=-1).indices)

    def values(self, rows: Rows, weights: Matrix) -> Values:
        """Metric of one weighting ``(r, v)`` for each of some queries ``(r,)``."""
        order = torch.from_numpy(self.first(rows, weights))
        return self._values(rows, order[:, None])[:, 0]

    def first(self, rows: Rows, weights: Matrix) -> Rows:
        """Best candidates by one weighting ``(r, v)``, as far as the metric looks, ``(r, k)``."""
        depth = min(self.metric.depth, self.everything.mask.shape[1])
        found = np.zeros((len(rows), depth), dtype=np.intp)
        for start in range(0, len(rows), _CHUNK):
            part = slice(start, start + _CHUNK)
            batch = self.everything.rows(torch.from_numpy(rows[part]))
            weighting = torch.from_numpy(np.array(weights[part], dtype=np.float32))
            scores = served_scores(batch, weighting[:, None])
            order = torch.sort(scores, dim=-1, descending=True, stable=True).indices
            found[part] = order[:, 0, :depth].numpy()
        return found

    def keep(self, rows: Rows) -> Values:
        """Metric of the query alone, ``(r,)``."""
        return self.values(rows, keep_weights(len(rows), len(self.pools.views)))

    def _values(self, rows: Rows, order: Tensor) -> Table:
        return self.metric.values(self.pools.judge(rows, order.numpy(), self.metric.depth))


def keep_weights(n: int, n_views: int) -> Matrix:
    """All weight on the query itself, ``(n, v)``."""
    weights = np.zeros((n, n_views), dtype=np.float32)
    weights[:, 0] = 1.0
    return weights


def _above(scores: Tensor, lowest: Tensor) -> Tensor:
    highest = scores.amax(dim=-1, keepdim=True)
    return ((scores - lowest) / (highest - lowest).clamp_min(_NARROW)).clamp_min(0.0)


def _min_max(scores: Tensor) -> Tensor:
    lowest, highest = scores.amin(dim=-1, keepdim=True), scores.amax(dim=-1, keepdim=True)
    return (scores - lowest) / (highest - lowest).clamp_min(_NARROW)
