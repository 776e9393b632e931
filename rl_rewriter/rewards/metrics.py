"""Ranking metrics of judged queries, equal to trec_eval's."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rl_rewriter.errors import InputError
from rl_rewriter.types import Ranking

Gains = npt.NDArray[np.float64]
Grades = Mapping[str, float]


@dataclass(frozen=True)
class Metric:
    """A metric at a cut-off, such as nDCG@10.

    Attributes:
        kind: "ndcg", "mrr", "recall" or "hits".
        depth: Documents that count.
    """

    kind: str
    depth: int

    def __post_init__(self) -> None:
        """Refuse unknown kinds and depths below 1."""
        if self.kind not in _FORMULAS or self.depth < 1:
            raise InputError(
                f"unknown metric {self.name!r}; use one of {', '.join(_FORMULAS)} "
                'with a depth of at least 1, such as "ndcg@10"'
            )

    @classmethod
    def parse(cls, name: str) -> Metric:
        """Read "ndcg@10" and the like.

        Raises:
            InputError: The name isn't of that form.
        """
        match = re.fullmatch(r"([a-z]+)@(\d+)", name.strip().lower())
        if not match:
            raise InputError(f'unknown metric {name!r}; write it like "ndcg@10"')
        return cls(match.group(1), int(match.group(2)))

    @property
    def name(self) -> str:
        """The form that :meth:`parse` reads."""
        return f"{self.kind}@{self.depth}"

    def __call__(self, ids: Sequence[str], grades: Grades) -> float:
        """Value of one ranking of document ids under one query's judgements.

        A document that stands twice counts once, where it stands first.
        """
        top = ids[: self.depth]
        gains = np.asarray([grades.get(id_, 0.0) for id_ in top], dtype=np.float64)
        if len(set(top)) < len(top):
            gains *= [id_ not in top[:rank] for rank, id_ in enumerate(top)]
        return _FORMULAS[self.kind](np.maximum(gains, 0.0), grades, self.depth)

    def of(self, rankings: Sequence[Ranking], judgements: Sequence[Grades]) -> Gains:
        """Values of ``n`` rankings, shape ``(n,)``."""
        return np.asarray(
            [self(r.ids, g) for r, g in zip(rankings, judgements, strict=True)], dtype=np.float64
        )


def ndcg(gains: Gains, grades: Grades, depth: int) -> float:
    """Discounted gain over the best attainable one (Järvelin and Kekäläinen 2002, linear gains).

    ``DCG = sum_i gain_i / log2(i + 1)`` over ranks ``i = 1 .. depth``; 0 where nothing is relevant.
    """
    ideal = np.sort([grade for grade in grades.values() if grade > 0])[::-1][:depth]
    best = _dcg(ideal)
    return _dcg(gains) / best if best > 0 else 0.0


def reciprocal_rank(gains: Gains, grades: Grades, depth: int) -> float:
    """``1 / rank`` of the first relevant document, 0 where none is within ``depth``."""
    hits = np.flatnonzero(gains > 0)
    return 1.0 / float(hits[0] + 1) if len(hits) else 0.0


def recall(gains: Gains, grades: Grades, depth: int) -> float:
    """Share of the relevant documents that are within ``depth``."""
    n_relevant = sum(grade > 0 for grade in grades.values())
    return float((gains > 0).sum()) / n_relevant if n_relevant else 0.0


def hits(gains: Gains, grades: Grades, depth: int) -> float:
    """Number of relevant documents within ``depth``."""
    return float((gains > 0).sum())


def _dcg(gains: npt.ArrayLike) -> float:
    values = np.asarray(gains, dtype=np.float64)
    return float((values / np.log2(np.arange(2, len(values) + 2))).sum())


_FORMULAS: Mapping[str, Callable[[Gains, Grades, int], float]] = {
    "ndcg": ndcg,
    "mrr": reciprocal_rank,
    "recall": recall,
    "hits": hits,
}
