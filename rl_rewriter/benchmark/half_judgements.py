"""Rankings valued by one half of their judgements and by the other."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rl_rewriter.envs.outcomes import Outcomes
from rl_rewriter.rewards.judged import JudgedRankings, Judgements
from rl_rewriter.rewards.metrics import Metric
from rl_rewriter.types import Qrels

REPEATS = 10
"""Random divisions, whose mean is taken: one alone is a matter of luck."""
Places = npt.NDArray[np.int64]
Kept = npt.NDArray[np.bool_]


def half_values(
    outcomes: Outcomes, qrels: Qrels, metric: Metric, *, repeats: int = REPEATS, seed: int = 0
) -> npt.NDArray[np.float64]:
    """Metric of every action by random halves of each query's relevant documents.

    One half counts as all there is to be found, and the documents of the other half are taken out
    of the rankings: left in, they would push down what the first half looks for, and an action that
    finds both would look bad by either.

    Args:
        outcomes: What every action retrieved.
        qrels: Judgements by query id.
        metric: What is measured.
        repeats: Random divisions; of an odd number of documents, either half gets the larger part.
        seed: Seed of the divisions.

    Returns:
        Values ``(r, 2, n, m)``; NaN for queries with fewer than two relevant documents.
    """
    judgements = outcomes.judgements(qrels)
    found = _Found.of(outcomes, judgements)
    counts = np.bincount(judgements.rows, minlength=len(outcomes))
    rng = np.random.default_rng(seed)
    values = np.empty((repeats, 2, len(outcomes), len(outcomes.action_names)))
    for repeat in values:
        first = _random_half(judgements, counts, rng)
        for half, kept in zip(repeat, (first, ~first), strict=True):
            half[:] = metric.values(found.judged_by(kept))
    values[:, :, counts < 2] = np.nan
    return values


@dataclass(frozen=True, eq=False)
class _Found:
    """Where rankings hold judged documents: ``h`` places in order of query, action and rank.

    Attributes:
        outcomes: The rankings.
        judgements: All of the judgements.
        rows: Query of each place, ``(h,)``.
        columns: Its action.
        ranks: Its rank, from 0.
        pairs: Which judgement it meets.
        first: The first place of the same ranking.
    """

    outcomes: Outcomes
    judgements: Judgements
    rows: Places
    columns: Places
    ranks: Places
    pairs: Places
    first: Places

    @classmethod
    def of(cls, outcomes: Outcomes, judgements: Judgements) -> _Found:
        """Look all documents up once, for all divisions."""
        numbers = np.arange(1.0, len(judgements.rows) + 1.0)
        numbered = replace(judgements, grades=numbers).judge(outcomes.ranked).gains
        rows, columns, ranks = np.nonzero(numbered)
        pairs = numbered[rows, columns, ranks].astype(np.int64) - 1
        is_first = np.ones(len(rows), dtype=np.bool_)
        is_first[1:] = (np.diff(rows) != 0) | (np.diff(columns) != 0)
        first = np.flatnonzero(is_first)[np.cumsum(is_first) - 1]
        return cls(outcomes, judgements, rows, columns, ranks, pairs, first)

    def judged_by(self, kept: Kept) -> JudgedRankings:
        """The rankings by some of the judgements, ``kept (j,)``, without the others' documents."""
        own = kept[self.pairs]
        left_out: Places = np.cumsum(~own) - ~own
        ranks = self.ranks - (left_out - left_out[self.first])
        ideal = self.judgements.where(kept).judge(self.outcomes.ranked[:, :1])
        gains = np.zeros(self.outcomes.ranked.shape)
        gains[self.rows[own], self.columns[own], ranks[own]] = self.judgements.grades[
            self.pairs[own]
        ]
        return replace(ideal, gains=gains)


def _random_half(judgements: Judgements, counts: Places, rng: np.random.Generator) -> Kept:
    """A random half of each query's judgements, ``(j,)``."""
    order = np.lexsort((rng.random(len(judgements.rows)), judgements.rows))
    starts = np.cumsum(counts) - counts
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order)) - starts[judgements.rows]
    sizes = (counts + rng.integers(0, 2, len(counts))) // 2
    return np.asarray(place < sizes[judgements.rows])
