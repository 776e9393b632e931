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
MOST_POOLED = 50
"""Terms that stand for one word at most."""
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
        if allowed is None:
            for term, weight in weights.items():
                postings = self._postings(term)
                np.add.at(scores, self.rows[postings], weight * self.impacts[postings])
            return scores
        n_documents = int(np.count_nonzero(allowed))
        if not n_documents:
            return scores
        mean_length = self._mean_length(allowed, n_documents)
        for term, weight in weights.items():
            rows, frequencies = self._found(term, allowed)
            saturation = self._saturation(rows, mean_length)
            idf = np.float32(_idf(len(rows), n_documents)).astype(np.float64)
            impacts = (idf * (frequencies / (saturation + frequencies))).astype(np.float32)
            scores[rows] += weight * impacts
        return scores

    def pooled_scores(
        self, words: Iterable[tuple[float, Mapping[str, float]]], allowed: Mask | None = None
    ) -> Vector:
        """Weighted sum of the scores of words, each of them pooled of several terms, ``(n,)``.

        What stands for a word counts as the word itself, as far as it does: its frequency in a
        document and its number of documents are those of its terms times their weights, summed
        (probabilistic structured queries: Darwish and Oard, 2003). A word of one term of weight 1
        scores as in :meth:`scores`. Of a word's terms the first ``MOST_POOLED`` that stand in some
        document count: what a filter keeps out takes nobody's place.

        Args:
            words: What each word counts for, and the terms that stand for it with weights up to 1,
                those first that count before others.
            allowed: The documents that there are for this search, ``(n,)``, None for all; others
                score 0.
        """
        scores = np.zeros(len(self.lengths), dtype=np.float32)
        n_documents = len(scores) if allowed is None else int(np.count_nonzero(allowed))
        if not n_documents:
            return scores
        mean_length = self._mean_length(allowed, n_documents)
        pooled = np.zeros(len(scores), dtype=np.float64)
        for weight, terms in words:
            n_containing, found = 0.0, []
            for term, share in terms.items():
                rows, frequencies = self._found(term, allowed)
                if not len(rows):
                    continue
                pooled[rows] += share * frequencies
                n_containing += share * len(rows)
                found.append(rows)
                if len(found) == MOST_POOLED:
                    break
            if not found:
                continue
            # A document that several terms stand in comes several times, and is set once.
            rows = np.concatenate(found)
            frequencies = pooled[rows]
            saturation = self._saturation(rows, mean_length)
            idf = _idf(min(n_containing, n_documents), n_documents)
            scores[rows] += weight * idf * frequencies / (saturation + frequencies)
            pooled[rows] = 0.0
        return scores

    def _mean_length(self, allowed: Mask | None, n_documents: int) -> float:
        total = self.lengths.sum() if allowed is None else self.lengths @ allowed
        return float(total) / n_documents

    def _saturation(
        self, rows: npt.NDArray[np.integer], mean_length: float
    ) -> npt.NDArray[np.float64]:
        """What a term's frequency in each of these documents is set against."""
        return np.asarray(K1 * ((1 - B) + B * self.lengths[rows] / mean_length))

    def _postings(self, term: str) -> slice:
        """Where a term's postings are; none for a term that no document has."""
        number = self.vocabulary.get(term, len(self.starts))
        if number + 1 >= len(self.starts):
            return slice(0, 0)
        return slice(self.starts[number], self.starts[number + 1])

    def _found(
        self, term: str, allowed: Mask | None
    ) -> tuple[npt.NDArray[np.integer], npt.NDArray[np.uint32]]:
        """Documents of a term among those allowed, and how often it stands in each."""
        postings = self._postings(term)
        rows, frequencies = self.rows[postings], self.frequencies[postings]
        if allowed is None:
            return rows, frequencies
        inside = allowed[rows]
        return rows[inside], frequencies[inside]


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


def _idf(n_containing: float, n_documents: int) -> float:
    return math.log(1 + (n_documents - n_containing + 0.5) / (n_containing + 0.5))
