"""Many rankings judged at once are worth what each is worth alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_rewriter.errors import InputError
from rl_rewriter.rewards.judged import Judgements
from rl_rewriter.rewards.metrics import Metric

DOCUMENTS = tuple(f"d{number}" for number in range(8))
GRADES = st.dictionaries(st.sampled_from([*DOCUMENTS, "never found"]), st.integers(-1, 3))
RANKED = st.lists(st.integers(-1, len(DOCUMENTS) - 1), min_size=5, max_size=5)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(GRADES, RANKED, RANKED), min_size=1, max_size=5),
    st.sampled_from(["ndcg", "mrr", "map", "recall", "hits"]),
    st.integers(1, 5),
)
def test_a_table_of_rankings_is_worth_what_each_is_worth_alone(
    rows: list[tuple[dict[str, int], list[int], list[int]]], kind: str, depth: int
) -> None:
    ranked = np.asarray([[first, second] for _, first, second in rows], dtype=np.int32)
    qrels = {f"q{row}": grades for row, (grades, _, _) in enumerate(rows)}
    metric = Metric(kind, depth)
    values = metric.values(Judgements.of(list(qrels), DOCUMENTS, qrels).judge(ranked))
    for row, (grades, *both) in enumerate(rows):
        for column, numbers in enumerate(both):
            ids = [DOCUMENTS[n] if n >= 0 else f"nothing {rank}" for rank, n in enumerate(numbers)]
            assert values[row, column] == pytest.approx(metric(ids, grades), abs=1e-12)


def test_judgements_can_be_left_out() -> None:
    qrels = {"a": {"d0": 1.0, "d1": 2.0}, "b": {"d1": 1.0}}
    judgements = Judgements.of(["a", "b"], DOCUMENTS, qrels)
    assert judgements.documents.tolist() == [0, 1, 1]
    ranked = np.asarray([[[1, 0]], [[1, 0]]], dtype=np.int32)
    left = judgements.where(np.asarray([True, False, True])).judge(ranked)
    assert left.gains.tolist() == [[[0.0, 1.0]], [[1.0, 0.0]]]
    assert left.ideal.tolist() == [[1.0, 0.0], [1.0, 0.0]]
    assert left.n_relevant.tolist() == [1.0, 1.0]


def test_without_any_judgement_everything_is_worth_nothing() -> None:
    judged = Judgements.of(["a"], DOCUMENTS, {}).judge(np.zeros((1, 2, 3), dtype=np.int32))
    for kind in ("ndcg", "mrr", "map", "recall", "hits"):
        assert Metric(kind, 3).values(judged).tolist() == [[0.0, 0.0]]


def test_a_metric_that_looks_deeper_than_the_rankings_is_refused() -> None:
    judged = Judgements.of(["a"], DOCUMENTS, {}).judge(np.zeros((1, 1, 3), dtype=np.int32))
    with pytest.raises(InputError, match="recall@10 looks at 10 documents but 3 were ranked"):
        Metric("recall", 10).values(judged)
