"""Term weights and topics by hand."""

from __future__ import annotations

import json
import math

from rl_rewriter.text.statistics import MAX_TERMS, CollectionStatistics, Topic

TEXTS = ("refund card refund", "card delivery", "card", "退款")
TOPICS = (
    Topic("refund", {"refund": 0.9, "money": 0.5}),
    Topic("parcel", {"parcel": 0.8, "money": 0.5}),
)


def test_document_frequencies_count_documents_not_words() -> None:
    statistics = CollectionStatistics.from_texts(TEXTS)
    assert statistics.n_documents == 4
    assert statistics.document_frequency == {"card": 3, "refund": 1, "delivery": 1, "退款": 1}
    assert statistics.knows("退款")
    assert not statistics.knows("the")


def test_idf_by_hand() -> None:
    statistics = CollectionStatistics.from_texts(TEXTS)
    assert statistics.idf("card") == math.log(1 + 1.5 / 3.5)
    assert statistics.idf("refund") == math.log(1 + 3.5 / 1.5)
    assert statistics.idf("unheard") == math.log(1 + 4.5 / 0.5)
    assert statistics.idf("card") < statistics.idf("refund") < statistics.idf("unheard")


def test_idf_without_documents_is_finite() -> None:
    assert math.isfinite(CollectionStatistics().idf("x"))


def test_topic_with_the_largest_weight_the_earlier_on_ties() -> None:
    statistics = CollectionStatistics.from_texts(TEXTS, TOPICS)
    assert statistics.topic_of(["parcel", "money"]) == "parcel"
    assert statistics.topic_of(["money"]) == "refund"
    assert statistics.topic_of(["weather"]) is None
    assert statistics.topic_of([]) is None


def test_json_round_trip() -> None:
    statistics = CollectionStatistics.from_texts(TEXTS, TOPICS)
    restored = CollectionStatistics.from_json(json.loads(json.dumps(statistics.to_json())))
    assert restored == statistics
    assert restored.topic_of(["parcel", "money"]) == "parcel"


def test_of_too_many_terms_the_rarest_are_left_out() -> None:
    many = " ".join(f"term{number}" for number in range(MAX_TERMS + 5))
    statistics = CollectionStatistics.from_texts(["common thing", many, "common thing"])
    assert len(statistics.document_frequency) == MAX_TERMS
    assert statistics.knows("common")
