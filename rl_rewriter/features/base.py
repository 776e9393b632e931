"""The Protocol that every group of state features follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rl_rewriter.types import Evidence, Matrix, Needs


class FeatureExtractor(Protocol):
    """A group of columns of the state."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, ``d`` of them."""
        ...

    @property
    def needs(self) -> Needs:
        """What evidence must be gathered first."""
        ...

    def extract(self, evidence: Sequence[Evidence]) -> Matrix:
        """Raw values, shape ``(n, d)`` float32, finite."""
        ...
