"""How often terms stand in documents: BM25 of a part of a collection as if that were all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from rl_rewriter.types import Vector

K1 = 1.5
B = 0.75
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class TermCounts:
    """Postings of a collection, and BM25 (Lucene's variant) by them.

    A filter's documents are scored by their own number, their own mean length and their own
    document frequencies. So nothing outside the filter, such as another tenant's documents, can
    move a score or a rank inside it. All sums run over the postings of the query's terms only.

    Attributes:
        vocabulary: Term -> its number ``t``.
        starts: The postings of ``t`` are ``starts[t]`` to ``starts[t + 1]``.
        rows: One document a posting.
        impacts: What each posting scores where all documents are searched.
        frequencies: How often the posting's term stands in its document.
        lengths: Terms of each document, ``(n,)``.
    """

    vocabulary: Mapping[str, int]
    starts: npt.NDArray[np.integer]
    rows: npt.NDArray[np.integer]
    impacts: npt.NDArray[np.float32]
    frequencies: npt.NDArray[np.uint32]
    lengths: npt.NDArray[np.int64]

    def scores(self, weights: Mapping[str, float], allowed: Mask | None = None) -> Vector:
        """Weighted sum of the terms' scores, ``(n,)``.

        The arithmetic is that of bm25s step by step: what a filter lets through scores to the last
        digit as in an index that holds nothing else.

        Args:
            weights: What each term counts for; terms that no document has score nothing.
            allowed: The documents that there are for this search, ``(n,)``, None for all; others
                score 0.
        """
        scores = np.zeros(len(self.lengths), dtype=np.float32)
        known = [
            (weight, slice(self.starts[number], self.starts[number + 1]))
            for term, weight in weights.items()
            if (number := self.vocabulary.get(term, len(self.starts))) + 1 < len(self.starts)
        ]
        if allowed is None:
            for weight, postings in known:
                np.add.at(scores, self.rows[postings], weight * self.impacts[postings])
            return scores
        n_documents = int(np.count_nonzero(allowed))
        if not n_documents or not known:
            return scores
        mean_length = float(self.lengths @ allowed) / n_documents
        for weight, postings in known:
            inside = allowed[self.rows[postings]]
            rows = self.rows[postings][inside]
            frequencies = self.frequencies[postings][inside].astype(np.float64)
            saturation = K1 * ((1 - B) + B * self.lengths[rows] / mean_length)
            idf = np.float32(_idf(len(rows), n_documents)).astype(np.float64)
            impacts = (idf * (frequencies / (saturation + frequencies))).astype(np.float32)
            scores[rows] += weight * impacts
        return scores


def count_terms(
    documents: Sequence[Sequence[str]],
    vocabulary: Mapping[str, int],
    starts: npt.NDArray[np.integer],
    rows: npt.NDArray[np.integer],
    impacts: npt.NDArray[np.float32],
) -> TermCounts:
    """Count the terms of documents for postings that are there already.

    Args:
        documents: Terms of each document.
        vocabulary: Term -> its number.
        starts: Where each term's postings begin, and the end of all.
        rows: One document a posting.
        impacts: What each posting scores where all documents are searched.
    """
    lengths = np.fromiter(map(len, documents), dtype=np.int64, count=len(documents))
    numbers = map(vocabulary.__getitem__, chain.from_iterable(documents))
    seen = np.fromiter(numbers, dtype=np.int64, count=int(lengths.sum()))
    seen <<= 32
    seen |= np.repeat(np.arange(len(documents)), lengths)
    distinct, counts = np.unique(seen, return_counts=True)
    postings = np.repeat(np.arange(len(starts) - 1), np.diff(starts)) << 32 | rows
    frequencies = counts[np.searchsorted(distinct, postings)].astype(np.uint32)
    return TermCounts(vocabulary, starts, rows, impacts, frequencies, lengths)


def _idf(n_containing: int, n_documents: int) -> float:
    return math.log(1 + (n_documents - n_containing + 0.5) / (n_containing + 0.5))
