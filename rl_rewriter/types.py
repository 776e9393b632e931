"""The frozen records that travel through the system, from a query to its logged outcome."""

from __future__ import annotations

import enum
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from rl_rewriter.errors import InputError

Vector = npt.NDArray[np.float32]
"""Shape ``(d,)``: one embedding."""
Matrix = npt.NDArray[np.float32]
"""Shape ``(n, d)``: one row an item."""
Qrels = Mapping[str, Mapping[str, float]]
"""Judgements: query id -> document id -> grade (0 = judged not relevant)."""

OnProgress = Callable[[str, int, int], None]
"""Called with the stage, how much of it is done, and how much there is."""

Role = Literal["user", "assistant"]

MAX_QUERY_CHARS = 10_000
"""Longer queries are served as they are: no rewrite of a pasted document is worth its price."""


class Needs(enum.Flag):
    """What an action or a feature needs, and what a retriever offers, in one vocabulary.

    An action can be carried out where ``needs`` is contained in what the retriever offers
    (plus ``HISTORY`` where the query has earlier turns); all others are masked before sampling.
    """

    NOTHING = 0
    BLEND = enum.auto()
    """Search a weighted mix of several texts."""
    VECTOR = enum.auto()
    """Search by a vector that no text has."""
    FIRST_RANKING = enum.auto()
    """Ids and scores of what the unchanged query retrieves."""
    FIRST_TEXTS = enum.auto()
    """Texts of the first documents."""
    FIRST_VECTORS = enum.auto()
    """Embeddings of the first documents."""
    LEXICAL = enum.auto()
    """A BM25 ranking of the same documents, and fusion with it."""
    LEXICAL_VECTORS = enum.auto()
    """Embeddings of the first BM25 documents."""
    HISTORY = enum.auto()
    """At least one earlier turn of the conversation."""
    HISTORY_VECTORS = enum.auto()
    """Embeddings of parts of the conversation, where there is one."""
    SPELLING = enum.auto()
    """BM25 alone, in which words of the collection that are spelt alike can count."""

    @property
    def in_words(self) -> str:
        """The names of the flags, for messages: "first ranking, lexical"."""
        names = [flag.name or "" for flag in Needs if flag in self]
        return ", ".join(name.lower().replace("_", " ") for name in names)


@dataclass(frozen=True, slots=True)
class Turn:
    """One earlier message of the conversation."""

    role: Role
    text: str


@dataclass(frozen=True, eq=False)
class Filters:
    """Restriction of a search to part of a collection, in Chroma's own language.

    Attributes:
        where: Condition on metadata, e.g. ``{"tenant": "a"}``.
        where_document: Condition on text, e.g. ``{"$contains": "refund"}``.
    """

    where: Mapping[str, Any] | None = None
    where_document: Mapping[str, Any] | None = None

    @property
    def key(self) -> str:
        """Canonical JSON: equal for equal filters, usable as a cache key."""
        return json.dumps([self.where, self.where_document], sort_keys=True, default=repr)

    def __eq__(self, other: object) -> bool:
        """Equality of the canonical form: a condition on ``True`` isn't one on ``1``."""
        return isinstance(other, Filters) and self.key == other.key

    def __hash__(self) -> int:
        """Hash of the canonical form, since mappings have none."""
        return hash(self.key)


@dataclass(frozen=True)
class Query:
    """What the user asked, with what came before and what the search is restricted to.

    Attributes:
        text: The user's words, unchanged.
        history: Earlier turns, oldest first.
        filters: Restriction that applies to this search and to every extra search made for it.
        id: Name of the query in judgements; empty in serving.
    """

    text: str
    history: tuple[Turn, ...] = ()
    filters: Filters | None = None
    id: str = ""

    def __post_init__(self) -> None:
        """Refuse what is not text at all; empty text is a question for the caller."""
        if not isinstance(self.text, str):
            raise InputError(f"a query must be a string, not {type(self.text).__name__}")

    @property
    def is_searchable(self) -> bool:
        """Whether there is anything to rewrite: some text, and not a pasted document."""
        return bool(self.text.strip()) and len(self.text) <= MAX_QUERY_CHARS


@dataclass(frozen=True, eq=False)
class Rewrite:
    """What is sent to the retriever: weighted texts and/or one vector, never just a string.

    Attributes:
        texts: Texts to search for; the first is the one a text-only retriever receives.
        weights: One weight a text, summing to 1. Two texts of weights .6 and .4 are searched as one
            vector ``.6 e(a) + .4 e(b)`` (or the same mix of term scores), not as two searches.
        vector: Searched instead of the texts' embedding where vectors can be, ``(d,)``.
        lexical_weight: Share of the BM25 score in the fused ranking, 0 to 1.
        lexical_texts: What BM25 scores there; ``texts[0]`` where there are none. Some ask for words
            that are spelt alike (:func:`~rl_rewriter.text.alike.asks_alike`).
        lexical_shares: One weight a lexical text, summing to 1: scores of several are mixed.
        llm_calls: Calls of a language model that were made for it.
        without_words: Whether BM25 is left out even by a retriever that fuses of its own accord.
    """

    texts: tuple[str, ...]
    weights: tuple[float, ...] = (1.0,)
    vector: Vector | None = None
    lexical_weight: float = 0.0
    lexical_texts: tuple[str, ...] = ()
    lexical_shares: tuple[float, ...] = ()
    llm_calls: int = 0
    without_words: bool = False

    def __post_init__(self) -> None:
        """Check that texts and weights belong together."""
        if not self.texts or len(self.texts) != len(self.weights):
            raise InputError(
                f"a rewrite needs one weight a text, got {len(self.texts)} texts and "
                f"{len(self.weights)} weights"
            )
        if not abs(sum(self.weights) - 1.0) <= 1e-6 or min(self.weights) < 0:
            raise InputError(f"weights of a rewrite must be >= 0 and sum to 1, got {self.weights}")
        if not 0.0 <= self.lexical_weight <= 1.0:
            raise InputError(f"lexical_weight must lie in [0, 1], got {self.lexical_weight}")
        if self.without_words and self.lexical_weight:
            raise InputError(
                f"a rewrite without words has no lexical_weight, got {self.lexical_weight}"
            )
        shares = self.lexical_shares
        if len(self.lexical_texts) != len(shares):
            raise InputError(
                f"a rewrite needs one share a lexical text, got {len(self.lexical_texts)} texts "
                f"and {len(shares)} shares"
            )
        if shares and (not abs(sum(shares) - 1.0) <= 1e-6 or min(shares) < 0):
            raise InputError(f"lexical shares must be >= 0 and sum to 1, got {shares}")

    def __eq__(self, other: object) -> bool:
        """Equality of everything that is searched, the vector's numbers included."""
        return isinstance(other, Rewrite) and self._content == other._content

    def __hash__(self) -> int:
        """Hash of everything that is searched."""
        return hash(self._content)

    @property
    def _content(self) -> tuple[object, ...]:
        vector = None if self.vector is None else self.vector.tobytes()
        words = (self.lexical_weight, self.without_words, self._words)
        return self.texts, self.weights, vector, words

    @property
    def _words(self) -> tuple[tuple[str, ...], tuple[float, ...]]:
        if self.lexical_texts:
            return self.lexical_texts, self.lexical_shares
        return self.texts[:1], (1.0,)

    @property
    def without_lexical(self) -> Rewrite:
        """The same without what BM25 is to score where rankings are fused."""
        if not (self.lexical_weight or self.lexical_texts):
            return self
        return replace(self, lexical_weight=0.0, lexical_texts=(), lexical_shares=())

    @property
    def words(self) -> Rewrite:
        """What BM25 scores where rankings are fused: weighted texts and nothing else."""
        texts, shares = self._words
        return Rewrite(texts=texts, weights=shares)

    @property
    def text(self) -> str:
        """The one text that stands for this rewrite where only a text can be sent."""
        return self.texts[0]

    def is_the_query(self, query: Query) -> bool:
        """Whether this searches the query itself, no more and no less."""
        is_same_text = self.texts == (query.text,)
        is_plain = self.vector is None and not self.lexical_weight and not self.without_words
        return is_same_text and is_plain

    @classmethod
    def keep(cls, query: Query) -> Rewrite:
        """The query as it is."""
        return cls(texts=(query.text,))

    @classmethod
    def blend(cls, query: Query, text: str, strength: float) -> Rewrite:
        """Move from the query toward ``text``: strength 0 keeps, 1 replaces."""
        if strength <= 0.0:
            return cls.keep(query)
        if strength >= 1.0:
            return cls(texts=(text,))
        return cls(texts=(query.text, text), weights=(1.0 - strength, strength))


@dataclass(frozen=True, slots=True)
class ScoredDocument:
    """One retrieved document; higher scores are better, whatever the store's distance.

    The score is None where the retriever that found it tells none.
    """

    id: str
    score: float | None
    text: str | None = None
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, eq=False)
class Ranking:
    """Documents in order, best first, in columns.

    Attributes:
        ids: Document ids, ``m`` of them.
        scores: Shape ``(m,)``, descending, higher is better.
        texts: Document texts where they were asked for.
        metadatas: Document metadata where it was asked for.
        vectors: Embeddings, shape ``(j, d)``, of the first ``j <= m`` documents where asked for.
    """

    ids: tuple[str, ...]
    scores: Vector
    texts: tuple[str, ...] | None = None
    metadatas: tuple[Mapping[str, Any] | None, ...] | None = None
    vectors: Matrix | None = None

    def __len__(self) -> int:
        """Number of documents."""
        return len(self.ids)

    def top(self, k: int) -> Ranking:
        """The first ``k`` documents."""
        if k >= len(self.ids):
            return self
        return Ranking(
            ids=self.ids[:k],
            scores=self.scores[:k],
            texts=None if self.texts is None else self.texts[:k],
            metadatas=None if self.metadatas is None else self.metadatas[:k],
            vectors=None if self.vectors is None else self.vectors[:k],
        )

    def documents(self) -> list[ScoredDocument]:
        """The ranking as records, one a document."""
        texts = self.texts or (None,) * len(self.ids)
        metadatas = self.metadatas or (None,) * len(self.ids)
        return [
            ScoredDocument(id_, float(score), text, metadata)
            for id_, score, text, metadata in zip(
                self.ids, self.scores, texts, metadatas, strict=True
            )
        ]


@dataclass(frozen=True)
class RewriteDecision:
    """What was decided for one query, with all that is needed to learn from it later.

    Attributes:
        id: Joins feedback to this decision.
        query: The query as asked.
        rewrite: What to send to the retriever.
        action: Name of the action taken; "keep" is the do-nothing action.
        strength: 0 = keep, 1 = replace.
        propensity: Probability with which this action was chosen. Where a blend's weights were
            drawn as well, ``propensity exp(log_density)`` is the density of the whole decision.
        probabilities: The full distribution it was drawn from, masked actions left out; all on one
            action where the most probable one was taken without drawing.
        preferences: The policy's own probabilities, drawn from or not; not logged.
        policy_name: Which policy decided.
        policy_version: Content hash of its checkpoint, or "untrained".
        reason: "policy", "explored", "untrained" or "fallback:<what>".
        state: What the policy saw before standardising, so that any policy with the same columns
            can be judged by it; None where it was not computed.
        state_schema: Fingerprint of the feature columns of ``state``.
        time: Seconds since the epoch.
        latency_ms: Time spent deciding, searches for evidence included.
        cost: Price of the rewrite in units of the metric, by the prices of training.
        tags: What the decision log says beside it of whose policy this was, such as a rollout's.
        blends: Version of the numbers of each learned blend that the policy could take, by name.
        sigma: Standard deviation with which such a blend's logits were drawn, or would have been;
            0 where its weights are served as they are.
        weights: Drawn weight of every view of the blend taken, 0 for those that the query doesn't
            have; empty where none were drawn.
        log_density: Log-density of their logits, less their mean over the views that the query has;
            None where none were drawn.
    """

    id: str
    query: Query
    rewrite: Rewrite
    action: str
    strength: float
    propensity: float
    probabilities: Mapping[str, float]
    preferences: Mapping[str, float]
    policy_name: str
    policy_version: str
    reason: str
    state: tuple[float, ...] | None = None
    state_schema: str = ""
    time: float = 0.0
    latency_ms: float = 0.0
    cost: float = 0.0
    tags: Mapping[str, Any] = field(default_factory=dict)
    blends: Mapping[str, str] = field(default_factory=dict)
    sigma: float = 0.0
    weights: Mapping[str, float] = field(default_factory=dict)
    log_density: float | None = None

    @property
    def explored(self) -> bool:
        """Whether the action was drawn rather than the most probable one."""
        return self.reason == "explored"


@dataclass(frozen=True, slots=True)
class Feedback:
    """An outcome that arrived for a decision, perhaps much later.

    Attributes:
        decision_id: The decision it belongs to.
        value: The outcome; its scale belongs to ``kind``.
        kind: What was observed, e.g. "thumb", "click", "dwell_seconds", "ndcg@10".
        time: Seconds since the epoch.
        position: Rank of the document it is about, from 0.
        document_id: The document it is about.
    """

    decision_id: str
    value: float
    kind: str
    time: float
    position: int | None = None
    document_id: str | None = None


@dataclass(frozen=True)
class LoggedInteraction:
    """A decision as read back from a log, joined with what came of it.

    Attributes:
        decision: The decision record as a JSON object (see the decision-log format).
        feedback: All feedback that names its id, in order of arrival.
    """

    decision: Mapping[str, Any]
    feedback: tuple[Feedback, ...] = ()


FEEDBACK_DOCUMENTS = 10
"""Documents of each ranking whose vectors are gathered for feedback."""


class TermStatistics(Protocol):
    """Term weights of a collection, as far as actions and features ask for them."""

    @property
    def n_documents(self) -> int:
        """Number of documents counted."""
        ...

    def idf(self, term: str) -> float:
        """Inverse document frequency; the highest value for unknown terms."""
        ...

    def knows(self, term: str) -> bool:
        """Whether the collection contains the term."""
        ...

    def topic_of(self, terms: Sequence[str]) -> str | None:
        """The word that names the topic these terms belong to, or None."""
        ...


@dataclass(slots=True, eq=False)
class Evidence:
    """What is known about one query before deciding; filled by one batched gathering.

    Attributes:
        query: The query.
        statistics: Term weights of the collection.
        vector: Embedding of the query's text, computed once a request, scaled as the retriever
            searches it: to unit length in a cosine space.
        first: Ranking of the unchanged query, with texts and vectors where gathered.
        lexical: BM25 ranking of the unchanged query, the same way.
        part_vectors: Embeddings of parts of the conversation by their text, scaled likewise.
        features: What the policy sees of the query, before standardising, ``(d,)``.
        gathered: What has been filled in so far.
    """

    query: Query
    statistics: TermStatistics
    vector: Vector | None = None
    first: Ranking | None = None
    lexical: Ranking | None = None
    part_vectors: dict[str, Vector] = field(default_factory=dict)
    features: Vector | None = None
    gathered: Needs = field(default=Needs.NOTHING)
