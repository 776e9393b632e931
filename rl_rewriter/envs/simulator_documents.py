"""The documents of a generated world, written so that each way of asking has one right rewrite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rl_rewriter.envs.simulator_config import (
    DOCUMENTS_PER_PLAN,
    HANDBOOKS,
    NOISE_DOCUMENTS,
    OVERVIEWS,
    PLANS,
    SimulatorConfig,
)
from rl_rewriter.envs.word_maker import WordMaker, draw, sample, shuffled

PLAN_NAMES = ("as it is", "but for this", "by the by", "if not then", "on and on", "to be at")
"""Made of stop words, no word in two names: whoever removes stop words removes the plan."""
FILLER = (
    "hello",
    "hi there",
    "please let me know",
    "i really just want to know about",
    "could you please tell me all about",
    "can anyone please tell me something on",
    "i need to know",
    "id like to get something about",
    "and also about",
    "so what is it with",
    "i dont really know about this",
    "can you just tell me what that is",
    "ok so basically",
    "actually i want it very much",
    "thanks so much",
    "thank you very much",
)
"""Said around a need; the keyword form keeps nothing of it."""

_TERMS = 9
_COLLOQUIAL = 10
_FAMILY = 6
_BOILERPLATE = 14
_ASPECTS = 30
# A handbook's weight must lie on the topic's word, so that one word in front of a query outweighs
# the query's own; a plan's name must weigh more than the shortness of an overview.
_WORD_REPEATS = 16
_PLAN_REPEATS = 3
_OWN_WORDS = 10
_OWN_WORDS_SHORT = 8
_BOILERPLATE_EACH = 4


@dataclass(frozen=True)
class Topic:
    """One theme and its documents.

    Attributes:
        word: Names the topic: over and over in its handbooks, once in each letter.
        terms: Formal words, all of them in each overview and each document about a plan.
        colloquial: Words of its letters, each in half of them.
        handbooks: Ids of the handbooks.
        overviews: Ids of the overviews, shorter than others and without a plan.
        plans: Name of a plan -> ids of the documents about it.
    """

    word: str
    terms: tuple[str, ...]
    colloquial: tuple[str, ...]
    handbooks: tuple[str, ...]
    overviews: tuple[str, ...]
    plans: Mapping[str, tuple[str, ...]]

    @property
    def with_terms(self) -> tuple[str, ...]:
        """Ids of all documents that hold the terms."""
        return (*self.overviews, *(id_ for ids in self.plans.values() for id_ in ids))


@dataclass(frozen=True)
class Collection:
    """All documents, and the words that queries are made of.

    Attributes:
        documents: Document id -> text.
        topics: What the documents are about.
        boilerplate: Words of which every topic's documents hold some.
        aspects: Words for a side of something, of which each document holds one.
    """

    documents: Mapping[str, str]
    topics: tuple[Topic, ...]
    boilerplate: tuple[str, ...]
    aspects: tuple[str, ...]


class CollectionWriter:
    """Writes a collection document by document.

    Args:
        rng: Source of randomness.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._maker = WordMaker(rng)
        self._documents: dict[str, str] = {}
        self._boilerplate = self._maker.words(_BOILERPLATE, syllables=3)
        self._aspects = self._maker.words(_ASPECTS, syllables=2)

    def write(self, config: SimulatorConfig) -> Collection:
        """All topics, and the documents that only padding matches."""
        topics = tuple(
            self._topic(f"t{number}", config.letters_per_topic) for number in range(config.n_topics)
        )
        for number in range(NOISE_DOCUMENTS // 2):
            self._add(f"chatter-{number}", FILLER)
            self._add(f"boilerplate-{number}", self._boilerplate)
        return Collection(self._documents, topics, self._boilerplate, self._aspects)

    def _topic(self, name: str, n_letters: int) -> Topic:
        word = self._maker.words(1, syllables=5)[0]
        family = self._maker.words(_FAMILY, syllables=3)
        terms = self._maker.words(_TERMS, syllables=2)
        colloquial = self._maker.words(_COLLOQUIAL, syllables=2)
        for i, words in enumerate(_letters(colloquial, n_letters)):
            self._add(f"{name}-letter-{i}", [word, *words, *self._common(family, _OWN_WORDS)])
        handbooks = [[word] * _WORD_REPEATS] * HANDBOOKS
        plans = sample(self._rng, PLAN_NAMES, PLANS)
        return Topic(
            word,
            terms,
            colloquial,
            handbooks=self._group(f"{name}-handbook", handbooks, family, _OWN_WORDS_SHORT),
            overviews=self._group(
                f"{name}-overview", [terms] * OVERVIEWS, family, _OWN_WORDS_SHORT
            ),
            plans={plan: self._about_plan(name, plan, terms, family) for plan in plans},
        )

    def _about_plan(
        self, name: str, plan: str, terms: Sequence[str], family: Sequence[str]
    ) -> tuple[str, ...]:
        contents = [[*terms, *[plan] * _PLAN_REPEATS]] * DOCUMENTS_PER_PLAN
        return self._group(f"{name}-{plan.replace(' ', '_')}", contents, family, _OWN_WORDS)

    def _group(
        self, name: str, contents: Sequence[Sequence[str]], family: Sequence[str], n_own: int
    ) -> tuple[str, ...]:
        return tuple(
            self._add(f"{name}-{i}", [*words, *self._common(family, n_own)])
            for i, words in enumerate(contents)
        )

    def _common(self, family: Sequence[str], n_own: int) -> list[str]:
        """What any document of a topic holds; the family makes it one topic."""
        return [
            *family,
            *self._maker.words(n_own, syllables=3),
            *sample(self._rng, self._boilerplate, _BOILERPLATE_EACH),
            draw(self._rng, self._aspects),
        ]

    def _add(self, id_: str, words: Sequence[str]) -> str:
        self._documents[id_] = " ".join(shuffled(self._rng, words))
        return id_


def _letters(colloquial: Sequence[str], n_letters: int) -> list[list[str]]:
    """Each word in every other letter or so, spread evenly: no letter answers a query alone."""
    letters: list[list[str]] = [[] for _ in range(n_letters)]
    for i, word in enumerate(colloquial):
        step = 1 + i // n_letters
        for turn in range((n_letters + 1) // 2):
            letters[(i + turn * step) % n_letters].append(word)
    return letters
