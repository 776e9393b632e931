"""Words that are spelt alike by the character n-grams they share, and texts that ask for them.

Endings, compounds and misspellings of words of about four letters and more differ in few n-grams,
whatever the language (Adamson and Boreham, 1974, "The use of an association measure based on
character structure to identify semantically related pairs of words and document titles"). Shorter
words, and those that change inside, are alike to nothing but themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

GRAM = 4
"""Characters of an n-gram; a word's first and last one hold its edges."""
LEAST = 0.5
"""Dice coefficient of their n-grams from which two words are alike."""
_REMEMBERED = 10_000
_LONGEST_REMEMBERED = 40
_EDGE = " "
_ASKS = "\ufdd0 "
"""A character that Unicode reserves for use within a program, so that no text should hold it, and a
space, so that nobody takes both for a part of the first word."""


def ask_alike(text: str) -> str:
    """The text, asking BM25 to count words that are spelt alike; "" stays as it is."""
    return _ASKS + text if text else ""


def asks_alike(text: str) -> bool:
    """Whether a text asks for that; to whoever doesn't know, its words are the same."""
    return text.startswith(_ASKS)


class Vocabulary:
    """The words of a collection, to be found by spelling. Threads may share it.

    Args:
        words: Each of them once, in any order.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._words = tuple(sorted(words))
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
        self._found: dict[str, Mapping[str, float]] = {}

    def __len__(self) -> int:
        """Number of words."""
        return len(self._words)

    def alike_to(self, word: str) -> Mapping[str, float]:
        """Words that are spelt like it with their Dice coefficients, itself at 1 where it is one.

        The most similar ones come first, equally similar ones by alphabet, so that neither the
        order of documents nor that of words in memory tells.
        """
        found = self._found.get(word)
        if found is None:
            found = self._alike_to(word)
            if len(word) <= _LONGEST_REMEMBERED:
                if len(self._found) >= _REMEMBERED:
                    self._found = {}
                self._found[word] = found
        return found

    def _alike_to(self, word: str) -> Mapping[str, float]:
        own = _grams(word)
        shared = [self._holding(self._numbers[gram]) for gram in own if gram in self._numbers]
        if not shared:
            return {}
        rows, counts = np.unique(np.concatenate(shared), return_counts=True)
        similar = 2.0 * counts / (self._sizes[rows] + len(own))
        best = np.argsort(-similar, kind="stable")
        best = best[similar[best] >= LEAST]
        return {self._words[rows[at]]: float(similar[at]) for at in best}

    def _holding(self, gram: int) -> npt.NDArray[np.int32]:
        return self._holders[self._starts[gram] : self._starts[gram + 1]]


def _grams(word: str) -> set[str]:
    """All of a word between its edges; a shorter one is one n-gram as a whole."""
    whole = f"{_EDGE}{word}{_EDGE}"
    return {whole[at : at + GRAM] for at in range(max(1, len(whole) - GRAM + 1))}
