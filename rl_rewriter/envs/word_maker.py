"""Made-up words that can be pronounced, and draws among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from rl_rewriter.errors import InputError
from rl_rewriter.text.stopwords import ENGLISH_NON_KEYWORDS

T = TypeVar("T")

_ONSETS = (
    *"bdfgklmnprstvz",
    *(f"{first}r" for first in "bdfgkpt"),
    *(f"{first}l" for first in "bfgkp"),
    "sk",
    "st",
)
_VOWELS = tuple("aeiou")
_CODAS = ("", "", "", "l", "n", "r")
_MAX_TRIES = 1000


def draw(rng: np.random.Generator, items: Sequence[T]) -> T:
    """One of the items."""
    return items[int(rng.integers(len(items)))]


def sample(rng: np.random.Generator, items: Sequence[T], count: int) -> list[T]:
    """``count`` different items in random order."""
    return [items[int(i)] for i in rng.permutation(len(items))[:count]]


def shuffled(rng: np.random.Generator, items: Sequence[T]) -> list[T]:
    """All items in random order."""
    return sample(rng, items, len(items))


class WordMaker:
    """Makes words of a given number of syllables, no word twice and none that is English filler.

    Args:
        rng: Source of randomness.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._taken: set[str] = set(ENGLISH_NON_KEYWORDS)

    def words(self, count: int, *, syllables: int) -> tuple[str, ...]:
        """``count`` new words.

        Raises:
            InputError: There are hardly any new words of that length left.
        """
        return tuple(self._new_word(syllables) for _ in range(count))

    def _new_word(self, syllables: int) -> str:
        for _ in range(_MAX_TRIES):
            word = "".join(
                draw(self._rng, part)
                for _ in range(syllables)
                for part in (_ONSETS, _VOWELS, _CODAS)
            )
            if word not in self._taken:
                self._taken.add(word)
                return word
        raise InputError(f"words of {syllables} syllables ran out; ask for fewer or longer ones")
