"""Document vectors, fetched once where memory allows, and compared as the store compares them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from rl_rewriter.retrieval.protocols import VectorSource
from rl_rewriter.types import Matrix, Ranking, Vector

_FETCHED_AT_ONCE = 5000


class DocumentVectors:
    """Holds vectors of documents up to a limit.

    Args:
        source: Where they come from.
        limit_bytes: What may be held beyond the documents of one batch of queries.
    """

    def __init__(self, source: VectorSource, limit_bytes: int) -> None:
        self._source = source
        self._limit = limit_bytes
        self._held: dict[str, Vector] = {}
        self._bytes = 0
        self._is_distance: bool | None = None

    def fetch(self, ids: Iterable[str]) -> None:
        """Make the vectors of these documents available, all at once."""
        wanted = set(ids)
        missing = sorted(wanted - self._held.keys())
        if missing and self._bytes > self._limit:
            # Copies: a row would keep alive all that it was fetched with.
            self._held = {id_: self._held[id_].copy() for id_ in wanted & self._held.keys()}
        for start in range(0, len(missing), _FETCHED_AT_ONCE):
            part = missing[start : start + _FETCHED_AT_ONCE]
            self._held.update(zip(part, self._source.document_vectors(part), strict=True))
        self._bytes = sum(vector.nbytes for vector in self._held.values())

    def similarities(self, ids: Sequence[str], views: Matrix, own: Ranking | None) -> Matrix:
        """How the store compares documents with views, ``(p, v)``, up to a constant by view.

        That is the inner product, of vectors of unit length in a cosine space, or half the squared
        distance, negative. The latter is ``v d - |d|^2 / 2`` but for what all documents share, so
        that a sum over views whose weights sum to 1 compares with the same sum of their vectors.

        Args:
            ids: Documents that were fetched.
            views: Vectors of the views, ``(v, d)``, the query itself first.
            own: What the query itself retrieves, which tells the two kinds of stores apart.
        """
        if self._is_distance is None and own is not None and len(own) > 2:
            self._is_distance = self._compares_by_distance(views[0], own)
        documents = np.stack([self._held[id_] for id_ in ids])
        products: Matrix = documents @ views.T
        if self._is_distance:
            products = products - 0.5 * (documents * documents).sum(axis=1, keepdims=True)
        return products

    def _compares_by_distance(self, query: Vector, own: Ranking) -> bool:
        """Whether scores of a search follow the distance rather than the inner product."""
        known = [row for row, id_ in enumerate(own.ids) if id_ in self._held]
        documents = np.stack([self._held[own.ids[row]] for row in known])
        scores = own.scores[known].astype(np.float64)
        lengths = (documents.astype(np.float64) ** 2).sum(axis=1)
        if np.ptp(lengths) <= 1e-4 * lengths.max():
            return False  # vectors of one length: both order documents alike
        products = documents.astype(np.float64) @ query
        return bool(_off(scores, 2.0 * products - lengths) < _off(scores, products))


def _off(scores: np.ndarray, guess: np.ndarray) -> float:
    """How far two columns are apart, but for a constant."""
    difference = scores - guess
    return float(np.abs(difference - difference.mean()).mean())
