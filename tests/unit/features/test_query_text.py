"""Features of the query's words, by hand."""

from __future__ import annotations

import math

import pytest

from rl_rewriter.features.query_text import QueryText
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.types import Evidence, Query

STATISTICS = CollectionStatistics(100, {"refund": 2, "card": 10, "退款": 3})


def describe(text: str) -> dict[str, float]:
    extractor = QueryText()
    [row] = extractor.extract([Evidence(Query(text), STATISTICS)])
    return dict(zip(extractor.columns, row.tolist(), strict=True))


def test_an_english_question() -> None:
    found = describe("Can the refund of it go to card 12? Please.")
    # tokens: can the refund of it go to card 12 please
    assert found["log_characters"] == pytest.approx(math.log1p(43))
    assert found["log_tokens"] == pytest.approx(math.log1p(10))
    assert found["stop_word_share"] == pytest.approx(4 / 10)
    assert found["filler_share"] == pytest.approx(1 / 10)
    assert found["unknown_share"] == pytest.approx(4 / 10)  # can, go, 12, please
    assert found["max_idf"] == pytest.approx(STATISTICS.idf("go"))
    assert found["min_idf"] == pytest.approx(STATISTICS.idf("card"))
    assert found["pronoun_share"] == pytest.approx(1 / 10)
    assert found["is_question"] == 1.0
    assert found["n_sentences"] == pytest.approx(math.log1p(2))
    assert found["digit_share"] == pytest.approx(2 / 43)
    assert found["cjk_share"] == 0.0


def test_idf_mean_and_spread() -> None:
    found = describe("refund card")
    low, high = STATISTICS.idf("card"), STATISTICS.idf("refund")
    assert found["mean_idf"] == pytest.approx((low + high) / 2)
    assert found["std_idf"] == pytest.approx((high - low) / 2, rel=1e-5)


@pytest.mark.parametrize(
    ("text", "is_question"),
    [
        ("refund?", 1.0),
        ("How long", 1.0),
        ("refund", 0.0),
        ("退款吗", 1.0),
        ("如何退款", 1.0),
        ("退款？", 1.0),
        ("退款", 0.0),
        ("", 0.0),
    ],
)
def test_questions(text: str, is_question: float) -> None:
    assert describe(text)["is_question"] == is_question


def test_chinese() -> None:
    found = describe("它如何退款")
    assert found["cjk_share"] == 1.0
    assert found["pronoun_share"] == 1.0
    assert found["unknown_share"] == pytest.approx(3 / 4)
