"""Metrics equal trec_eval's on every ranking and every judgement."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_rewriter.errors import InputError
from rl_rewriter.rewards.metrics import Metric

DOCUMENTS = [f"d{number}" for number in range(25)]
RANKINGS = st.permutations(DOCUMENTS).flatmap(
    lambda ids: st.integers(0, len(ids)).map(lambda size: ids[:size])
)
JUDGEMENTS = st.dictionaries(st.sampled_from([*DOCUMENTS, "x1", "x2", "x3"]), st.integers(-1, 4))
DEPTHS = st.sampled_from([1, 2, 3, 5, 10, 20, 100])
PEERS = {"ndcg": "nDCG@{}", "mrr": "RR@{}", "map": "AP@{}", "recall": "R@{}", "hits": "P@{}"}


def peer(kind: str, depth: int, ids: Sequence[str], grades: Mapping[str, int]) -> float:
    """The same by ir_measures, over strictly descending scores: ties are broken elsewhere."""
    measure = ir_measures.parse_measure(PEERS[kind].format(depth))
    qrels = [ir_measures.Qrel("q", id_, grade) for id_, grade in grades.items()]
    run = [ir_measures.ScoredDoc("q", id_, float(-rank)) for rank, id_ in enumerate(ids)]
    value = next((m.value for m in ir_measures.iter_calc([measure], qrels, run)), 0.0)
    return float(value) * (depth if kind == "hits" else 1)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(list(PEERS)), DEPTHS, RANKINGS, JUDGEMENTS)
def test_equal_to_ir_measures(
    kind: str, depth: int, ids: list[str], grades: dict[str, int]
) -> None:
    assert Metric(kind, depth)(ids, grades) == pytest.approx(
        peer(kind, depth, ids, grades), abs=1e-9
    )


@pytest.mark.parametrize("kind", PEERS)
def test_queries_without_relevant_documents_are_worth_nothing(kind: str) -> None:
    metric = Metric(kind, 10)
    for grades in ({}, {"a": 0.0, "b": 0.0}, {"a": -1.0}):
        assert metric(["a", "b"], grades) == 0.0
    assert metric([], {"a": 1.0}) == 0.0


def test_by_hand() -> None:
    ids, grades = ["x", "a", "b"], {"a": 1.0, "b": 2.0, "c": 1.0}
    ideal = 2 + 1 / math.log2(3) + 1 / 2
    assert Metric("ndcg", 3)(ids, grades) == pytest.approx((1 / math.log2(3) + 2 / 2) / ideal)
    assert Metric("ndcg", 2)(ids, grades) == pytest.approx(
        (1 / math.log2(3)) / (2 + 1 / math.log2(3))
    )
    assert Metric("mrr", 3)(ids, grades) == 0.5
    assert Metric("mrr", 1)(ids, grades) == 0.0
    assert Metric("recall", 3)(ids, grades) == pytest.approx(2 / 3)
    assert Metric("hits", 3)(ids, grades) == 2.0
    assert Metric("dcg", 3)(ids, grades) == pytest.approx(1 / math.log2(3) + 2 / 2)
    assert Metric("dcg", 2)(ids, {"a": 0.25}) == pytest.approx(0.25 / math.log2(3))


@settings(deadline=None)
@given(st.sampled_from(["ndcg", "mrr", "recall"]), DEPTHS, st.lists(st.sampled_from(DOCUMENTS)))
def test_a_document_that_stands_twice_counts_once(kind: str, depth: int, ids: list[str]) -> None:
    """Several chunks of one document may not lift a metric above its largest value."""
    grades = dict.fromkeys(DOCUMENTS[:5], 1.0)
    blanked = [id_ if id_ not in ids[:rank] else "blank" for rank, id_ in enumerate(ids)]
    value = Metric(kind, depth)(ids, grades)
    assert value == Metric(kind, depth)(blanked, grades)
    assert 0.0 <= value <= 1.0 + 1e-12


@pytest.mark.parametrize("name", ["ndcg@10", " MRR@5 ", "recall@100", "hits@1", "dcg@10"])
def test_names_are_read_and_written(name: str) -> None:
    assert Metric.parse(name).name == name.strip().lower()


@pytest.mark.parametrize("name", ["ndcg", "ndcg@", "ndcg@0", "bpref@10", "ndcg@-1", "ndcg@1.5", ""])
def test_unknown_metrics_are_refused_by_name(name: str) -> None:
    with pytest.raises(InputError, match=r"unknown metric '.*ndcg@10"):
        Metric.parse(name)
