"""What keep, one action, a predictor and hindsight reach on the same queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rl_rewriter.evaluation.significance import Values
from rl_rewriter.logs.columns import numbered

_SAME = 1e-9


@dataclass(frozen=True)
class KindFigures:
    """The room on the queries of one kind.

    Attributes:
        n: Number of queries.
        keep: Mean metric of keep.
        best_fixed: Of the single action, which is the best one over all kinds.
        oracle: Of the per-query best, biased upward by noise.
        differ_share: Queries on which not all actions score the same.
    """

    n: int
    keep: float
    best_fixed: float
    oracle: float
    differ_share: float


@dataclass(frozen=True, eq=False)
class Contenders:
    """Per-query metric of each contender, ``(n,)``.

    Attributes:
        keep: Of keep.
        fixed: Of the single action, chosen without the query.
        predicted: Of the action predicted from the state; None where there are too few queries.
        oracle: Of the best action in hindsight.
        differs: Whether not all actions score the same.
    """

    keep: Values
    fixed: Values
    predicted: Values | None
    oracle: Values
    differs: npt.NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        values: npt.NDArray[np.float64],
        fixed: npt.NDArray[np.intp],
        predicted: npt.NDArray[np.intp] | None,
    ) -> Contenders:
        """Look up the chosen actions ``(n,)`` in the metric values ``(n, m)``, keep first."""
        rows = np.arange(len(values))
        return cls(
            keep=values[:, 0],
            fixed=values[rows, fixed],
            predicted=None if predicted is None else values[rows, predicted],
            oracle=values.max(axis=1),
            differs=np.ptp(values, axis=1) > _SAME,
        )

    @property
    def reached(self) -> float:
        """The highest mean that is reached without hindsight."""
        without_hindsight = (self.keep, self.fixed, self.predicted)
        return max(float(values.mean()) for values in without_hindsight if values is not None)

    def captured(self, smallest: float) -> float | None:
        """Part of the gap from the single action to hindsight that the predictor closes.

        None without a predictor, or where the gap is below ``smallest``.
        """
        gap = float((self.oracle - self.fixed).mean())
        if self.predicted is None or gap < smallest:
            return None
        return float((self.predicted - self.fixed).mean()) / gap

    def by_kind(self, kinds: Sequence[str] | None) -> Mapping[str, KindFigures]:
        """Figures of each kind of query, in alphabetical order; none without kinds."""
        if kinds is None:
            return {}
        names, number = sorted(set(kinds)), numbered(kinds)
        counts = np.bincount(number)

        def means(values: npt.ArrayLike) -> list[float]:
            return [float(x) for x in np.bincount(number, weights=np.asarray(values)) / counts]

        columns = (self.keep, self.fixed, self.oracle, self.differs)
        rows = zip(counts.tolist(), *map(means, columns), strict=True)
        return {name: KindFigures(*row) for name, row in zip(names, rows, strict=True)}
