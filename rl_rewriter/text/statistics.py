"""Term weights and topics of a collection, learned once and stored with the policy."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rl_rewriter.errors import InputError
from rl_rewriter.text.tokens import index_terms

MAX_TERMS = 100_000
"""Rarest terms beyond this number are left out of what is stored; they count as unknown."""
_MOST_DOCUMENTS = 1 << 40


@dataclass(frozen=True)
class Topic:
    """A theme of the collection: the word that names it and how strongly terms speak for it."""

    word: str
    term_weights: Mapping[str, float]


@dataclass(frozen=True)
class CollectionStatistics:
    """Document frequencies and topics of a collection.

    Attributes:
        n_documents: Number of documents counted.
        document_frequency: Term -> number of documents that contain it.
        topics: Themes found in the collection; empty where none were learned.
    """

    n_documents: int = 0
    document_frequency: Mapping[str, int] = field(default_factory=dict)
    topics: tuple[Topic, ...] = ()
    _topics_by_term: Mapping[str, tuple[tuple[int, float], ...]] = field(
        init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        """Turn the topics into an index by term, so that a lookup costs the query's length."""
        by_term: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for number, topic in enumerate(self.topics):
            for term, weight in topic.term_weights.items():
                by_term[term].append((number, weight))
        index = {term: tuple(entries) for term, entries in by_term.items()}
        object.__setattr__(self, "_topics_by_term", index)

    @classmethod
    def from_texts(cls, texts: Iterable[str], topics: Sequence[Topic] = ()) -> CollectionStatistics:
        """Count the documents that contain each term."""
        frequency: Counter[str] = Counter()
        n_documents = 0
        for text in texts:
            frequency.update(set(index_terms(text)))
            n_documents += 1
        return cls(n_documents, dict(frequency.most_common(MAX_TERMS)), tuple(topics))

    def idf(self, term: str) -> float:
        """Smoothed ``ln(1 + (N - df + .5) / (df + .5))`` (Robertson and Zaragoza, 2009)."""
        frequency = self.document_frequency.get(term, 0)
        return math.log(1.0 + (self.n_documents - frequency + 0.5) / (frequency + 0.5))

    def knows(self, term: str) -> bool:
        """Whether some document contains the term."""
        return term in self.document_frequency

    def topic_of(self, terms: Sequence[str]) -> str | None:
        """Word of the topic with the largest summed weight over ``terms``; None without any."""
        totals: dict[int, float] = defaultdict(float)
        for term in terms:
            for number, weight in self._topics_by_term.get(term, ()):
                totals[number] += weight
        if not totals:
            return None
        best = max(totals, key=lambda number: (totals[number], -number))
        return self.topics[best].word

    def to_json(self) -> dict[str, Any]:
        """A JSON object from which :meth:`from_json` restores an equal object."""
        return {
            "n_documents": self.n_documents,
            "document_frequency": dict(self.document_frequency),
            "topics": [{"word": t.word, "terms": dict(t.term_weights)} for t in self.topics],
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> CollectionStatistics:
        """Restore what :meth:`to_json` wrote.

        Raises:
            InputError: There are too many terms, or a number can't be a count or a weight.
        """
        n_documents, frequency = record["n_documents"], record["document_frequency"]
        if len(frequency) > MAX_TERMS:
            raise InputError(f"{len(frequency):,} terms are more than {MAX_TERMS:,}")
        if type(n_documents) is not int or not 0 <= n_documents <= _MOST_DOCUMENTS:
            raise InputError(f"{n_documents!r:.40} is no number of documents")
        if not all(type(n) is int and 0 <= n <= n_documents for n in frequency.values()):
            raise InputError("a document frequency isn't between 0 and the number of documents")
        weights = [weight for entry in record["topics"] for weight in entry["terms"].values()]
        if not all(math.isfinite(weight) for weight in weights):
            raise InputError("a weight of a topic's term isn't finite")
        return cls(
            n_documents,
            {str(term): count for term, count in frequency.items()},
            tuple(
                Topic(
                    str(entry["word"]),
                    {str(term): float(weight) for term, weight in entry["terms"].items()},
                )
                for entry in record["topics"]
            ),
        )
