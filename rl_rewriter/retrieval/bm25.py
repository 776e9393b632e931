"""BM25 over a fixed list of documents, scored for many queries, kept on disk as a folder."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rl_rewriter.errors import InputError
from rl_rewriter.folders import replacing
from rl_rewriter.retrieval.kept_scores import KeptScores
from rl_rewriter.retrieval.ranking import top_ranking
from rl_rewriter.retrieval.term_counts import K1, B, Mask, TermCounts, count_terms
from rl_rewriter.text.alike import Vocabulary, asks_alike
from rl_rewriter.text.tokens import index_terms
from rl_rewriter.types import Ranking, Rewrite, Vector

_SCHEMA = 2
"""Of the stored index; to be raised when documents are tokenised or scored in another way."""
_FREQUENCIES = "frequencies.npy"
_LENGTHS = "lengths.npy"
_EMPTY_DOCUMENT = "\u0000"
"""Stands for documents without any term, and for none at all: bm25s wants a token somewhere."""


class Bm25Index:
    """Okapi BM25 in Lucene's variant (k1 = 1.5, b = 0.75) through bm25s.

    Args:
        ids: Document ids.
        texts: Document texts in the same order.
    """

    def __init__(self, ids: Sequence[str], texts: Sequence[str]) -> None:
        if len(ids) != len(texts):
            raise InputError(f"BM25 got {len(ids)} ids for {len(texts)} texts")
        self.ids = tuple(ids)
        documents = [index_terms(text) or [_EMPTY_DOCUMENT] for text in texts or ("",)]
        self._bm25 = _index(documents)
        self._counts = count_terms(documents, *_postings(self._bm25))
        self._scores = KeptScores(self._counts)
        self._spelling: Vocabulary | None = None

    def __len__(self) -> int:
        """Number of documents."""
        return len(self.ids)

    @cached_property
    def rows(self) -> dict[str, int]:
        """Document id -> position in the arrays that :meth:`scores` returns."""
        return {id_: row for row, id_ in enumerate(self.ids)}

    @property
    def knows_spelling(self) -> bool:
        """Whether :attr:`spelling` was made already."""
        return self._spelling is not None

    @property
    def spelling(self) -> Vocabulary:
        """The words of all documents by their spelling; made when a text first asks for it.

        Without a lock, which a process forked meanwhile would find held: two threads may make it
        twice.
        """
        if self._spelling is None:
            self._spelling = Vocabulary(self._counts.vocabulary)
        return self._spelling

    def scores(
        self, rewrite: Rewrite, allowed: Mask | None = None, *, query: str | None = None
    ) -> Vector:
        """BM25 score of every document for the weighted texts of a rewrite, shape ``(len(self),)``.

        Scores of several texts are mixed linearly: for BM25, a sum over terms, that is the same as
        a query whose terms carry the texts' weights, and each term is scored once. Of a text that
        asks for it (:func:`~rl_rewriter.text.alike.ask_alike`) words that are spelt alike count
        too.

        Args:
            rewrite: The texts with their weights.
            allowed: The documents that there are for this search, ``(len(self),)``; None for all.
                Term weights and mean length are theirs alone, and all others score 0.
            query: The text that the others grew from, which may have been scored a moment ago: of
                its terms nothing is scored again. By default the first of the texts.
        """
        if not self.ids:
            return np.zeros(0, dtype=np.float32)
        mix: dict[str, float] = {}
        alike: dict[str, float] = {}
        for text, weight in zip(rewrite.texts, rewrite.weights, strict=True):
            of_kind = alike if asks_alike(text) else mix
            for term in index_terms(text) if weight > 0 else ():
                of_kind[term] = of_kind.get(term, 0.0) + weight
        known = Counter(index_terms(rewrite.text if query is None else query))
        scores = self._scores.of_mix(mix, known, allowed)
        if not alike:
            return scores
        words = [(weight, self.spelling.alike_to(term)) for term, weight in alike.items()]
        return scores + self._counts.pooled_scores(words, allowed)

    def top(self, rewrite: Rewrite, k: int, allowed: Mask | None = None) -> Ranking:
        """The ``k`` best documents with a score above zero among those allowed."""
        return top_ranking(self.ids, self.scores(rewrite, allowed), k, above=0.0)

    def save(self, folder: Path, *, fingerprint: str) -> None:
        """Write the index as a folder: everything or nothing.

        Args:
            folder: Where to; an older index there is replaced.
            fingerprint: What the documents were, for :meth:`load` to compare.
        """
        record = {"schema": _SCHEMA, "fingerprint": fingerprint, "ids": list(self.ids)}
        with replacing(folder) as temporary:
            self._bm25.save(str(temporary), show_progress=False)
            np.save(temporary / _FREQUENCIES, self._counts.frequencies, allow_pickle=False)
            np.save(temporary / _LENGTHS, self._counts.lengths, allow_pickle=False)
            (temporary / "documents.json").write_text(json.dumps(record), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path, *, fingerprint: str) -> Bm25Index | None:
        """Read an index back; None where there is none, or it is damaged or of other documents."""
        from bm25s import BM25

        try:
            record = json.loads((folder / "documents.json").read_text(encoding="utf-8"))
            if record["schema"] != _SCHEMA or record["fingerprint"] != fingerprint:
                return None
            index = cls.__new__(cls)
            index.ids = tuple(record["ids"])
            index._bm25 = BM25.load(str(folder), show_progress=False)
            index._counts = TermCounts(
                *_postings(index._bm25),
                frequencies=np.load(folder / _FREQUENCIES, allow_pickle=False),
                lengths=np.load(folder / _LENGTHS, allow_pickle=False),
            )
            index._scores = KeptScores(index._counts)
            index._spelling = None
            if not index._is_whole():
                return None
        except Exception:  # whatever is wrong with what is stored, it can be built again
            return None
        return index

    def _is_whole(self) -> bool:
        """Whether the parts that were read belong together."""
        counts, n_documents = self._counts, max(len(self.ids), 1)
        n_postings = {len(counts.rows), len(counts.impacts), len(counts.frequencies)}
        return len(counts.lengths) == n_documents and len(n_postings) == 1


def _postings(bm25: Any) -> tuple[Mapping[str, int], Any, Any, Any]:
    """Vocabulary, first posting of each term, document of each posting, score of each posting."""
    return bm25.vocab_dict, *(bm25.scores[name] for name in ("indptr", "indices", "data"))


def _index(token_lists: list[list[str]]) -> Any:
    from bm25s import BM25

    bm25 = BM25(method="lucene", k1=K1, b=B, backend="numpy")
    bm25.index(token_lists, show_progress=False)
    return bm25
