"""Words that are spelt alike by the character n-grams they share, and texts that ask for them.

Endings, compounds and misspellings differ in a few n-grams only, in any language that writes words
apart, so nothing has to know the language (Adamson and Boreham, 1974, "The use of an association
measure based on character structure to identify semantically related pairs of words").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

import numpy as np
import numpy.typing as npt

GRAM = 4
"""Characters of an n-gram; a word's first and last one hold its edges."""
LEAST = 0.5
"""Dice coefficient of their n-grams from which two words are alike."""
MOST = 50
"""Words that one word is alike to at most, the most similar ones."""
_REMEMBERED = 10_000
_EDGE = " "
_ASKS = "\ue0a1"
"""A private-use character, which no text holds for its own sake."""


def ask_alike(text: str) -> str:
    """The text, asking BM25 to count words that are spelt alike; "" stays as it is."""
    return _ASKS + text if text else ""


def asks_alike(text: str) -> bool:
    """Whether a text asks for that; to whoever doesn't know, its words are the same."""
    return text.startswith(_ASKS)


class Vocabulary:
    """The words of a collection, to be found by spelling.

    Args:
        words: Each of them once.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._words = tuple(words)
        numbers: dict[str, int] = {}
        grams: list[int] = []
        sizes = np.zeros(len(self._words), dtype=np.int64)
        for row, word in enumerate(self._words):
            own = _grams(word)
            sizes[row] = len(own)
            grams += [numbers.setdefault(gram, len(numbers)) for gram in own]
        of_gram = np.asarray(grams, dtype=np.int64)
        order = np.argsort(of_gram, kind="stable")
        self._sizes = sizes
        self._numbers = numbers
        self._holders = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)[order]
        self._starts = np.searchsorted(of_gram[order], np.arange(len(numbers) + 1))
        self.alike_to = lru_cache(_REMEMBERED)(self._alike_to)

    def __len__(self) -> int:
        """Number of words."""
        return len(self._words)

    def _alike_to(self, word: str) -> Mapping[str, float]:
        """Words that are spelt alike with their Dice coefficients, itself at 1 where it is one."""
        own = _grams(word)
        shared = [self._holding(self._numbers[gram]) for gram in own if gram in self._numbers]
        if not shared:
            return {}
        rows, counts = np.unique(np.concatenate(shared), return_counts=True)
        similar = 2.0 * counts / (self._sizes[rows] + len(own))
        best = np.argsort(-similar, kind="stable")[:MOST]
        best = best[similar[best] >= LEAST]
        return {self._words[rows[at]]: float(similar[at]) for at in best}

    def _holding(self, gram: int) -> npt.NDArray[np.int32]:
        return self._holders[self._starts[gram] : self._starts[gram + 1]]


def _grams(word: str) -> set[str]:
    """All of a word between its edges; a shorter one is one n-gram as a whole."""
    whole = f"{_EDGE}{word}{_EDGE}"
    return {whole[at : at + GRAM] for at in range(max(1, len(whole) - GRAM + 1))}
