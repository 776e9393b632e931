"""How often terms stand in documents: BM25 of a part of a collection as if that were all."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
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
    """Postings of a collection.

    A filter's documents are scored by their own number, their own mean length and their own
    document frequencies. So nothing outside the filter, such as another tenant's documents, can
    move a score or a rank inside it. All sums run over the postings of the query's terms only.

    Attributes:
        vocabulary: Term -> its number ``t``.
        starts: The postings of ``t`` are ``starts[t]`` to ``starts[t + 1]``.
        rows: One document a posting.
        frequencies: How often the posting's term stands in its document.
        lengths: Terms of each document, ``(n,)``.
    """

    vocabulary: Mapping[str, int]
    starts: npt.NDArray[np.integer]
    rows: npt.NDArray[np.integer]
    frequencies: npt.NDArray[np.uint32]
    lengths: npt.NDArray[np.int64]

    def scores(self, terms: Iterable[str], allowed: Mask) -> Vector:
        """BM25 (Lucene's variant) of a query among the documents ``allowed``, ``(n,)``.

        Zero for all others. The arithmetic is that of bm25s step by step: what a filter lets
        through scores to the last digit as in an index that holds nothing else.
        """
        scores = np.zeros(len(self.lengths), dtype=np.float32)
        n_documents = int(np.count_nonzero(allowed))
        if not n_documents:
            return scores
        mean_length = float(self.lengths.sum(where=allowed) / n_documents)
        for term in terms:
            number = self.vocabulary.get(term, len(self.starts))
            if number + 1 >= len(self.starts):
                continue
            postings = slice(self.starts[number], self.starts[number + 1])
            inside = allowed[self.rows[postings]]
            rows = self.rows[postings][inside]
            frequencies = self.frequencies[postings][inside].astype(np.float64)
            saturation = K1 * ((1 - B) + B * self.lengths[rows] / mean_length)
            weight = np.float32(_idf(len(rows), n_documents)).astype(np.float64)
            scores[rows] += (weight * (frequencies / (saturation + frequencies))).astype(np.float32)
        return scores


def count_terms(
    documents: Sequence[Sequence[str]],
    vocabulary: Mapping[str, int],
    starts: npt.NDArray[np.integer],
    rows: npt.NDArray[np.integer],
) -> TermCounts:
    """Count the terms of documents for postings that are there already.

    Args:
        documents: Terms of each document.
        vocabulary: Term -> its number.
        starts: Where each term's postings begin, and the end of all.
        rows: One document a posting.
    """
    lengths = np.fromiter(map(len, documents), dtype=np.int64, count=len(documents))
    numbers = map(vocabulary.__getitem__, chain.from_iterable(documents))
    seen = np.fromiter(numbers, dtype=np.int64, count=int(lengths.sum()))
    seen <<= 32
    seen |= np.repeat(np.arange(len(documents)), lengths)
    distinct, counts = np.unique(seen, return_counts=True)
    postings = np.repeat(np.arange(len(starts) - 1), np.diff(starts)) << 32 | rows
    frequencies = counts[np.searchsorted(distinct, postings)].astype(np.uint32)
    return TermCounts(vocabulary, starts, rows, frequencies, lengths)


def _idf(n_containing: int, n_documents: int) -> float:
    return math.log(1 + (n_documents - n_containing + 0.5) / (n_containing + 0.5))
