"""The queries of a generated world: five ways of asking, each with one best action."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from rl_rewriter.envs.simulator_config import Kind, SimulatorConfig
from rl_rewriter.envs.simulator_documents import FILLER, Collection, Topic
from rl_rewriter.envs.word_maker import draw, sample, shuffled
from rl_rewriter.errors import InputError
from rl_rewriter.types import Query, Turn

FOLLOW_UPS = (
    "and what about its {} and {}?",
    "what about the {} and the {} of it?",
    "does it have this {} or that {}?",
    "so how is it with their {} and {}?",
    "can i get these for {} and {}?",
    "is that the one with {} and {}?",
)
_LETTERS = tuple("abdefgiklmnoprstuvz")
_SHORTEST_TYPO = 5
_MAX_TRIES = 200


@dataclass(frozen=True)
class Asked:
    """A query with what answers it.

    Attributes:
        query: The query.
        topic: What it is about.
        relevant: Ids of the documents that answer it.
    """

    query: Query
    topic: Topic
    relevant: tuple[str, ...]


class QueryWriter:
    """Writes queries, no two of them of the same words in whatever order.

    Args:
        collection: What is asked about.
        config: Shares of unrelated histories and typos.
        rng: Source of randomness.
    """

    def __init__(
        self, collection: Collection, config: SimulatorConfig, rng: np.random.Generator
    ) -> None:
        self._collection = collection
        self._config = config
        self._rng = rng
        self._asked: set[frozenset[str]] = set()
        self._forms: Mapping[Kind, Callable[[Topic], Asked]] = {
            "formal": self._formal,
            "wordy": self._wordy,
            "chatty": self._chatty,
            "vague": self._vague,
            "follow_up": self._follow_up,
        }

    def write(self, kind: Kind, id_: str) -> Asked:
        """A new query of a kind.

        Raises:
            InputError: Hardly any new combination of words is left.
        """
        for _ in range(_MAX_TRIES):
            asked = self._forms[kind](draw(self._rng, self._collection.topics))
            words = frozenset(asked.query.text.split())
            if words not in self._asked:
                self._asked.add(words)
                return dataclasses.replace(asked, query=self._finished(asked, id_))
        raise InputError(
            f"different {kind} queries ran out after {len(self._asked)} queries in all; "
            "ask for fewer queries or more topics"
        )

    def _formal(self, topic: Topic) -> Asked:
        """Terms and a plan: searched as they are, they find the documents about the plan."""
        plan = draw(self._rng, tuple(topic.plans))
        words = sample(self._rng, topic.terms, 5)
        words.insert(int(self._rng.integers(1, len(words))), plan)
        return Asked(Query(" ".join(words)), topic, topic.plans[plan])

    def _wordy(self, topic: Topic) -> Asked:
        """Four terms among boilerplate, which the rarest terms alone get rid of."""
        n_padding = int(self._rng.integers(10, 14))
        words = sample(self._rng, topic.terms, 4)
        words += sample(self._rng, self._collection.boilerplate, n_padding)
        return Asked(Query(" ".join(shuffled(self._rng, words))), topic, topic.with_terms)

    def _chatty(self, topic: Topic) -> Asked:
        """Four terms within filler, which the keyword form alone gets rid of."""
        parts = sample(self._rng, FILLER, int(self._rng.integers(5, 8)))
        for term in sample(self._rng, topic.terms, 4):
            parts.insert(int(self._rng.integers(len(parts) + 1)), term)
        return Asked(Query(" ".join(parts)), topic, topic.with_terms)

    def _vague(self, topic: Topic) -> Asked:
        """Colloquial words; what answers them is in handbooks that use only the topic's word."""
        words = sample(self._rng, topic.colloquial, 3)
        return Asked(Query(" ".join(words)), topic, topic.handbooks)

    def _follow_up(self, topic: Topic) -> Asked:
        """A question whose terms are in the turn before it alone."""
        text = draw(self._rng, FOLLOW_UPS).format(*sample(self._rng, self._collection.aspects, 2))
        return Asked(Query(text, history=self._history(topic)), topic, topic.with_terms)

    def _history(self, topic: Topic) -> tuple[Turn, ...]:
        question = " ".join(shuffled(self._rng, topic.terms))
        answer = " ".join(sample(self._rng, self._collection.boilerplate, 8))
        return (Turn("user", question), Turn("assistant", answer))

    def _finished(self, asked: Asked, id_: str) -> Query:
        """The query with its id and what doesn't depend on its kind: a typo, another history."""
        text, history = asked.query.text, asked.query.history
        if self._rng.random() < self._config.typo_share:
            text = self._with_typo(text)
        if not history and self._rng.random() < self._config.other_history_share:
            others = [topic for topic in self._collection.topics if topic is not asked.topic]
            history = self._history(draw(self._rng, others))
        return Query(text, history=history, id=id_)

    def _with_typo(self, text: str) -> str:
        """One inner letter of one longer word replaced, where there is such a word."""
        words = text.split()
        long = [i for i, word in enumerate(words) if len(word) >= _SHORTEST_TYPO]
        if not long:
            return text
        i = draw(self._rng, long)
        at = int(self._rng.integers(1, len(words[i]) - 1))
        words[i] = words[i][:at] + draw(self._rng, _LETTERS) + words[i][at + 1 :]
        return " ".join(words)
