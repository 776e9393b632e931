"""Scores of a part of a collection, by hand."""

from __future__ import annotations

import math

import numpy as np

from rl_rewriter.retrieval.term_counts import TermCounts, count_terms

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
