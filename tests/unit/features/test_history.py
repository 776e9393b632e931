"""Does the query go on with the conversation?"""

from __future__ import annotations

import math

import pytest

from rl_rewriter.features.history import History
from rl_rewriter.text.statistics import CollectionStatistics, Topic
from rl_rewriter.types import Evidence, Query, Turn

STATISTICS = CollectionStatistics(
    100, {"refund": 2, "card": 10}, (Topic("payment", {"refund": 1.0, "card": 1.0}),)
)


def describe(text: str, *turns: Turn) -> list[float]:
    [row] = History().extract([Evidence(Query(text, turns), STATISTICS)])
    values: list[float] = row.tolist()
    return values


def test_without_history_all_is_zero() -> None:
    assert describe("refund card") == [0.0] * 6


def test_overlap_is_weighted_by_idf() -> None:
    refund, card = STATISTICS.idf("refund"), STATISTICS.idf("card")
    found = describe(
        "refund card",
        Turn("user", "the card"),
        Turn("assistant", "a refund"),
        Turn("user", "thanks"),
    )
    share = refund / (refund + card)
    assert found == pytest.approx([1.0, math.log1p(3), 0.0, share, 1.0, 1.0])


def test_another_topic_does_not_continue() -> None:
    assert describe("weather", Turn("user", "refund"))[-1] == 0.0
    assert describe("refund", Turn("user", "weather"))[-1] == 0.0
    assert describe("the", Turn("user", "refund"))[2:] == [0.0, 0.0, 0.0, 0.0]
