"""Scores of a part of a collection, by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rl_rewriter.retrieval.bm25 import Bm25Index
from rl_rewriter.retrieval.term_counts import MOST_POOLED, TermCounts, count_terms
from rl_rewriter.rewards.reward import Table

DOCUMENTS = (("card", "refund"), ("card", "card", "week"), ("card",), ("week",))
VOCABULARY = {"card": 0, "refund": 1, "week": 2}
STARTS = np.asarray([0, 3, 4, 6])
ROWS = np.asarray([0, 1, 2, 0, 1, 3])
IMPACTS = np.asarray([1, 2, 3, 4, 5, 6], dtype=np.float32)


def counts() -> TermCounts:
    return count_terms(DOCUMENTS, VOCABULARY, STARTS, ROWS, IMPACTS)


def test_frequencies_and_lengths() -> None:
    assert counts().frequencies.tolist() == [1, 2, 1, 1, 1, 1]
    assert counts().lengths.tolist() == [2, 3, 1, 1]


def test_number_mean_length_and_document_frequencies_are_those_of_the_part() -> None:
    scores = counts().scores({"card": 2.0, "unknown": 1.0}, np.asarray([True, True, False, True]))
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    mean = (2 + 3 + 1) / 3
    first = idf * 1 / (1 + 1.5 * (0.25 + 0.75 * 2 / mean))
    second = idf * 2 / (2 + 1.5 * (0.25 + 0.75 * 3 / mean))
    np.testing.assert_allclose(scores, [2 * first, 2 * second, 0, 0], rtol=1e-6)


def test_a_part_without_documents_or_without_the_term_scores_nothing() -> None:
    nothing = np.zeros(4, dtype=np.bool_)
    assert not counts().scores({"card": 1.0}, nothing).any()
    assert not counts().scores({"refund": 1.0}, np.asarray([False, True, True, True])).any()
    assert not counts().scores({"": 1.0, "none": 1.0}, ~nothing).any()


def test_where_all_documents_are_searched_postings_score_what_the_index_says() -> None:
    scores = counts().scores({"card": 1.0, "week": 0.5, "unknown": 1.0})
    assert scores.tolist() == [1.0, 2.0 + 0.5 * 5.0, 3.0, 0.5 * 6.0]


def bm25(documents: Sequence[Sequence[str]]) -> TermCounts:
    return Bm25Index(
        [str(row) for row in range(len(documents))], [" ".join(terms) for terms in documents]
    )._counts


TERMS = st.sampled_from(("card", "cards", "refund", "week", "weekly"))
TEXTS = st.lists(st.lists(TERMS, max_size=6), min_size=1, max_size=6)


@given(TEXTS, st.dictionaries(TERMS, st.floats(0.1, 3.0)), st.randoms())
def test_words_that_stand_for_themselves_score_as_terms(
    documents: list[list[str]], weights: dict[str, float], random: Random
) -> None:
    found, allowed = bm25(documents), np.asarray([random.random() < 0.7 for _ in documents])
    words = [(weight, {term: 1.0}) for term, weight in weights.items()]
    for mask in (None, allowed):
        np.testing.assert_allclose(
            found.pooled_scores(words, mask), found.scores(weights, mask), rtol=1e-5, atol=1e-6
        )


@given(TEXTS)
def test_terms_of_full_weight_are_one_word(documents: list[list[str]]) -> None:
    """Where no document holds both, which would count it twice among those that hold the word."""
    apart = [
        [term for term in terms if term != "cards" or "card" not in terms] for terms in documents
    ]
    # as many terms in every document, so that replacing one changes nothing else
    merged = [["card" if term == "cards" else term for term in terms] for terms in apart]
    pooled = bm25(apart).pooled_scores([(1.0, {"card": 1.0, "cards": 1.0})])
    np.testing.assert_allclose(pooled, bm25(merged).scores({"card": 1.0}), rtol=1e-5, atol=1e-6)


def by_hand(
    documents: Sequence[Sequence[str]], frequencies: Sequence[float], n_containing: float
) -> Table:
    lengths = np.asarray([len(terms) for terms in documents])
    idf = math.log(1 + (len(documents) - n_containing + 0.5) / (n_containing + 0.5))
    tf = np.asarray(frequencies)
    return np.asarray(idf * tf / (tf + 1.5 * (0.25 + 0.75 * lengths / lengths.mean())))


def test_a_term_counts_as_far_as_it_stands_for_the_word() -> None:
    documents = [["card", "cards"], ["cards", "cards", "week"], ["card"], *[["week"]] * 7]
    scores = bm25(documents).pooled_scores([(2.0, {"card": 1.0, "cards": 0.5, "none": 0.9})])
    # two documents with the one, and half of the two with the other
    expected = 2.0 * by_hand(documents, [1.5, 1.0, 1.0, *[0.0] * 7], 2 * 1.0 + 2 * 0.5)
    np.testing.assert_allclose(scores, expected, rtol=1e-5)


def test_no_more_documents_hold_a_word_than_there_are() -> None:
    documents = [["card", "cards"], ["cards", "card", "week"], ["card", "cards"]]
    scores = bm25(documents).pooled_scores([(1.0, {"card": 1.0, "cards": 0.9})])
    np.testing.assert_allclose(scores, by_hand(documents, [1.9, 1.9, 1.9], 3), rtol=1e-5)
    assert (scores > 0).all()


def test_of_many_terms_the_first_that_stand_somewhere_count() -> None:
    documents = [[f"card{number}"] for number in range(2 * MOST_POOLED)]
    shares = {f"card{number}": 1.0 - number / 200 for number in range(len(documents))}
    found = bm25(documents).pooled_scores([(1.0, shares)])
    assert np.flatnonzero(found).tolist() == list(range(MOST_POOLED))
    last = np.arange(len(documents)) >= len(documents) - 3
    within = bm25(documents).pooled_scores([(1.0, shares)], last)
    assert np.flatnonzero(within).tolist() == np.flatnonzero(last).tolist()


@given(TEXTS, st.randoms())
def test_words_of_a_part_score_as_if_that_were_all(
    documents: list[list[str]], random: Random
) -> None:
    allowed = np.asarray([random.random() < 0.6 for _ in documents])
    words = [(1.0, {"card": 1.0, "cards": 0.7}), (0.5, {"weekly": 1.0, "week": 0.6})]
    found = bm25(documents).pooled_scores(words, allowed)
    assert not found[~allowed].any()
    if allowed.any():
        alone = bm25([terms for terms, is_in in zip(documents, allowed, strict=True) if is_in])
        np.testing.assert_allclose(found[allowed], alone.pooled_scores(words), rtol=1e-5, atol=1e-6)
