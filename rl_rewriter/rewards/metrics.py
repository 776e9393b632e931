"""Ranking metrics of judged queries, equal to trec_eval's, for many rankings at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rl_rewriter.errors import InputError
from rl_rewriter.rewards.judged import Gains, JudgedRankings, Judgements

Grades = Mapping[str, float]


@dataclass(frozen=True)
class Metric:
    """A metric at a cut-off, such as nDCG@10.

    Attributes:
        kind: "ndcg", "mrr", "map", "recall", "hits" or "dcg".
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
        documents = list(dict.fromkeys(ids))
        position = {id_: number for number, id_ in enumerate(documents)}
        ranked = np.full((1, 1, self.depth), -1, dtype=np.int32)
        top = ids[: self.depth]
        ranked[0, 0, : len(top)] = [position[id_] for id_ in top]
        judgements = Judgements.of(["query"], documents, {"query": grades})
        return float(self.values(judgements.judge(ranked))[0, 0])

    def values(self, judged: JudgedRankings) -> Gains:
        """Value of every ranking, ``(n, m)``; 0 where a query has no relevant document.

        Raises:
            InputError: The rankings aren't as deep as the metric looks.
        """
        if judged.depth < self.depth:
            raise InputError(
                f"{self.name} looks at {self.depth} documents but {judged.depth} were ranked"
            )
        return _FORMULAS[self.kind](judged, self.depth)


def ndcg(judged: JudgedRankings, depth: int) -> Gains:
    """Discounted gain over the best attainable one (Järvelin and Kekäläinen 2002, linear gains).

    ``DCG = sum_i gain_i / log2(i + 1)`` over ranks ``i = 1 .. depth``.
    """
    discounts = 1.0 / np.log2(np.arange(2, depth + 2))
    return _share(dcg(judged, depth), judged.ideal[:, :depth] @ discounts)


def dcg(judged: JudgedRankings, depth: int) -> Gains:
    """Discounted gain as it is, in units of the grades (see :func:`ndcg`)."""
    return np.asarray(judged.gains[..., :depth] @ (1.0 / np.log2(np.arange(2, depth + 2))))


def reciprocal_rank(judged: JudgedRankings, depth: int) -> Gains:
    """``1 / rank`` of the first relevant document, 0 where none is within ``depth``."""
    hits = judged.gains[..., :depth] > 0
    return np.where(hits.any(axis=-1), 1.0 / (hits.argmax(axis=-1) + 1.0), 0.0)


def average_precision(judged: JudgedRankings, depth: int) -> Gains:
    """Precision at the ranks of relevant documents, over their number (trec_eval's map_cut).

    ``AP = sum_i [i is relevant] P@i / R`` over ranks ``i = 1 .. depth``; a relevant document that
    isn't within ``depth`` adds 0.
    """
    hits = judged.gains[..., :depth] > 0
    precision = hits.cumsum(axis=-1) / np.arange(1, depth + 1)
    return _share((precision * hits).sum(axis=-1), judged.n_relevant)


def recall(judged: JudgedRankings, depth: int) -> Gains:
    """Share of the relevant documents that are within ``depth``."""
    return _share(hits(judged, depth), judged.n_relevant)


def hits(judged: JudgedRankings, depth: int) -> Gains:
    """Number of relevant documents within ``depth``."""
    return np.asarray((judged.gains[..., :depth] > 0).sum(axis=-1), dtype=np.float64)


def _share(values: Gains, best: Gains) -> Gains:
    """``values (n, m)`` over ``best (n,)``, 0 where that is 0."""
    whole = np.broadcast_to(best[:, None], values.shape)
    return np.divide(values, whole, out=np.zeros(values.shape), where=whole > 0)


_FORMULAS: Mapping[str, Callable[[JudgedRankings, int], Gains]] = {
    "ndcg": ndcg,
    "mrr": reciprocal_rank,
    "map": average_precision,
    "recall": recall,
    "hits": hits,
    "dcg": dcg,
}
