"""Where a blend is served: where its predicted advantage over keep is clear."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rl_rewriter.types import Matrix, Vector

_WEIGHTS, _BOUNDS = "gate.weights", "gate.bounds"


@dataclass(frozen=True, eq=False)
class BlendGate:
    """Predicts by the state what a blend gains, and says where that is enough.

    Attributes:
        weights: Metric per standard deviation of each state column, ``(s,)``.
        bias: Predicted advantage over keep of the average query, in units of the metric.
        least: Predicted advantage from which on the blend is served, in the same units.
    """

    weights: Vector
    bias: float
    least: float

    def advantage(self, states: Matrix) -> Vector:
        """Predicted advantage over keep, ``(n,)``, for standardised states ``(n, s)``."""
        told = (states * self.weights).sum(axis=1, dtype=np.float32)
        advantage: Vector = told + np.float32(self.bias)
        return advantage

    def is_open(self, states: Matrix) -> npt.NDArray[np.bool_]:
        """Where the blend is served, ``(n,)``, for standardised states ``(n, s)``."""
        return np.asarray(self.advantage(states) >= np.float32(self.least))

    def fits(self, n_columns: int) -> bool:
        """Whether it reads states of so many columns."""
        return self.weights.shape == (n_columns,)

    def arrays(self) -> dict[str, Matrix]:
        """All numbers by name, for a checkpoint."""
        bounds = np.asarray([self.bias, self.least], dtype=np.float32)
        return {_WEIGHTS: self.weights, _BOUNDS: bounds}

    @classmethod
    def restore(cls, arrays: Mapping[str, Matrix]) -> BlendGate | None:
        """Rebuild from :meth:`arrays`; None where they hold no gate.

        Raises:
            KeyError: Half of it is missing.
            ValueError: There are more or fewer than two bounds.
        """
        if _WEIGHTS not in arrays and _BOUNDS not in arrays:
            return None
        bias, least = (float(bound) for bound in arrays[_BOUNDS])
        return cls(arrays[_WEIGHTS], bias, least)
