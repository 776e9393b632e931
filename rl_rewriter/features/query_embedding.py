"""The query's embedding, reduced to its main directions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rl_rewriter.types import Evidence, Matrix, Needs


@dataclass(frozen=True, eq=False)
class QueryEmbedding:
    """Projection of the query vector on principal directions of the training queries.

    Attributes:
        components: Directions as rows, shape ``(r, d)``.
    """

    components: Matrix
    needs: Needs = Needs.VECTOR

    @property
    def columns(self) -> tuple[str, ...]:
        """``embedding_0`` and so on."""
        return tuple(f"embedding_{row}" for row in range(len(self.components)))

    def extract(self, evidence: Sequence[Evidence]) -> Matrix:
        """One row a query, shape ``(n, r)``; zeros where the query has no vector."""
        size = self.components.shape[1]
        rows = [item.vector if item.vector is not None else np.zeros(size) for item in evidence]
        projected: Matrix = np.asarray(rows, dtype=np.float32).reshape(-1, size) @ self.components.T
        return projected

    @classmethod
    def fit(cls, evidence: Sequence[Evidence], n_components: int) -> QueryEmbedding:
        """Principal directions of the queries' vectors (SVD of the centred matrix)."""
        vectors = np.stack([item.vector for item in evidence if item.vector is not None])
        _, _, directions = np.linalg.svd(vectors - vectors.mean(axis=0), full_matrices=False)
        return cls(directions[:n_components].astype(np.float32))
