"""Are made-up words what the generator relies on?"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_rewriter.envs.word_maker import WordMaker, sample, shuffled
from rl_rewriter.errors import InputError
from rl_rewriter.text.stopwords import ENGLISH_NON_KEYWORDS
from rl_rewriter.text.tokens import index_terms, keyword_form


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), syllables=st.integers(1, 5))
def test_words_are_new_and_mean_nothing(seed: int, syllables: int) -> None:
    maker = WordMaker(np.random.default_rng(seed))
    words = [*maker.words(40, syllables=syllables), *maker.words(40, syllables=syllables)]
    text = " ".join(words)
    assert len(set(words)) == 80
    assert not set(words) & ENGLISH_NON_KEYWORDS
    assert index_terms(text) == words
    assert keyword_form(text) == text


def test_running_out_is_said() -> None:
    with pytest.raises(InputError, match="ran out"):
        WordMaker(np.random.default_rng(0)).words(10_000, syllables=1)


@given(seed=st.integers(0, 100), count=st.integers(0, 12))
def test_samples_hold_no_item_twice(seed: int, count: int) -> None:
    items = tuple("abcdefgh")
    drawn = sample(np.random.default_rng(seed), items, count)
    assert len(drawn) == len(set(drawn)) == min(count, 8)
    assert sorted(shuffled(np.random.default_rng(seed), items)) == list(items)
