"""Post-retrieval predictors by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rl_rewriter.features.first_ranking import FirstRanking, LexicalAgreement
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.types import Evidence, Query, Ranking

STATISTICS = CollectionStatistics(100, {"refund": 2, "card": 10})


def ranking(ids: str, *scores: float) -> Ranking:
    return Ranking(tuple(ids), np.asarray(scores, dtype=np.float32))


def evidence(first: Ranking | None = None, lexical: Ranking | None = None) -> Evidence:
    return Evidence(Query("the refund card"), STATISTICS, first=first, lexical=lexical)


def test_gaps_and_spread_over_the_first_ten() -> None:
    scores = [1.0, 0.5, 0.25, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.1]
    [row] = FirstRanking().extract([evidence(ranking("abcdefghijk", *scores, -99.0))])
    assert row.tolist() == pytest.approx([1.0, 0.5, 0.75, 0.9, float(np.std(scores)), 0.0])


def test_short_rankings_use_their_last_document() -> None:
    rows = FirstRanking().extract([evidence(ranking("a", 0.7)), evidence(ranking("ab", 0.7, 0.4))])
    assert rows[0].tolist() == pytest.approx([0.7, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert rows[1].tolist() == pytest.approx([0.7, 0.3, 0.3, 0.3, 0.15, 0.0])


@pytest.mark.parametrize("first", [None, ranking("")])
def test_nothing_found_is_a_feature_of_its_own(first: Ranking | None) -> None:
    [row] = FirstRanking().extract([evidence(first)])
    assert row.tolist() == [0, 0, 0, 0, 0, 1]


def test_agreement_of_the_two_rankings() -> None:
    first = ranking("abcdefghij", *np.linspace(1, 0.1, 10))
    lexical = ranking("axbyc", 4.0, 3.0, 2.0, 1.0, 1.0)
    [row] = LexicalAgreement().extract([evidence(first, lexical)])
    attainable = math.log(1 + 98.5 / 2.5) + math.log(1 + 90.5 / 10.5)
    expected = [1.0, 2 / 3, 0.3, 4.0 / attainable, 1 / 4, 3 / 4, 0.0]
    assert row.tolist() == pytest.approx(expected)


@pytest.mark.parametrize("lexical", [None, ranking("")])
def test_no_word_found(lexical: Ranking | None) -> None:
    [row] = LexicalAgreement().extract([evidence(ranking("a", 1.0), lexical)])
    assert row.tolist() == [0, 0, 0, 0, 0, 0, 1]
