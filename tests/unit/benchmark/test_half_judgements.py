"""Halved judgements against metrics of rankings from which the other half was taken by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_rewriter.benchmark.half_judgements import half_values
from rl_rewriter.envs.outcomes import Outcomes
from rl_rewriter.rewards.metrics import Metric
from rl_rewriter.types import Query

DOCUMENTS = "abcdefgh"
NDCG = Metric("ndcg", 4)


def outcomes(*rankings: Sequence[str]) -> Outcomes:
    """The rankings of each query's actions, a letter a document, "." for none."""
    array = np.asarray(
        [[[DOCUMENTS.find(name) for name in ids] for ids in row] for row in rankings], np.int32
    )
    n, m, _ = array.shape
    return Outcomes(
        queries=tuple(Query(f"query {row}", id=f"q{row}") for row in range(n)),
        action_names=("keep", *(f"a{column}" for column in range(1, m))),
        columns=(),
        features=np.zeros((n, 0), np.float32),
        mask=np.ones((n, m), np.bool_),
        applied=np.ones((n, m), np.bool_),
        documents=tuple(DOCUMENTS),
        ranked=array,
        effort=np.zeros((n, m, 4), np.int16),
    )


def without(ids: str, left_out: set[str]) -> list[str]:
    return [name for name in ids if name not in left_out and name != "."]


def divisions(
    rankings: Sequence[str], grades: Mapping[str, float], metric: Metric
) -> list[npt.NDArray[np.float64]]:
    """Values ``(2, m)`` of all divisions of the relevant documents into halves."""
    relevant = {name for name, grade in grades.items() if grade > 0}
    found = []
    for size in {len(relevant) // 2, (len(relevant) + 1) // 2}:
        for first in combinations(sorted(relevant), size):
            halves = (set(first), relevant - set(first))
            values = [
                [
                    metric(without(ids, relevant - half), {name: grades[name] for name in half})
                    for ids in rankings
                ]
                for half in halves
            ]
            found.append(np.asarray(values))
    return found


def test_two_documents_by_hand() -> None:
    """Keep finds a first and b second: of either half it finds all there is, at the top."""
    found = half_values(
        outcomes(["ab..", "cba.", "c.b."]), {"q0": {"a": 1.0, "b": 1.0}}, NDCG, repeats=20
    )
    assert found.shape == (20, 2, 1, 3)
    second = 1 / np.log2(3)
    by_a, by_b = [1.0, second, 0.0], [1.0, second, 1 / np.log2(4)]
    seen = {tuple(np.round(repeat[:, 0].ravel(), 9)) for repeat in found}
    assert seen == {
        tuple(np.round([*by_a, *by_b], 9)),
        tuple(np.round([*by_b, *by_a], 9)),
    }


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.permutations(DOCUMENTS).map(lambda ids: "".join(ids[:4])), min_size=2, max_size=4),
    st.dictionaries(st.sampled_from(DOCUMENTS), st.sampled_from([0.0, 1.0, 2.0]), min_size=2),
    st.sampled_from([NDCG, Metric("recall", 3), Metric("mrr", 4), Metric("hits", 2)]),
    st.integers(0, 99),
)
def test_each_division_is_one_into_halves_with_the_other_half_taken_out(
    rankings: list[str], grades: dict[str, float], metric: Metric, seed: int
) -> None:
    found = half_values(outcomes(rankings), {"q0": grades}, metric, repeats=3, seed=seed)
    if sum(grade > 0 for grade in grades.values()) < 2:
        assert np.isnan(found).all()
        return
    possible = divisions(rankings, grades, metric)
    for repeat in found:
        assert any(np.allclose(repeat[:, 0], values) for values in possible)


def test_queries_are_halved_apart_and_those_that_cannot_be_are_nan() -> None:
    qrels = {"q0": {"a": 1.0, "b": 1.0}, "q1": {"a": 1.0}, "q2": {"g": 1.0, "a": 2.0, "b": 0.0}}
    rows = (["ab..", "ba.."], ["ab..", "ba.."], ["abgh", "hgfe"])
    found = half_values(outcomes(*rows), qrels, NDCG, repeats=8)
    assert np.isfinite(found[:, :, [0, 2]]).all()
    assert np.isnan(found[:, :, 1]).all()
    for repeat in found:
        for row, ids in ((0, "q0"), (2, "q2")):
            possible = divisions(rows[row], qrels[ids], NDCG)
            assert any(np.allclose(repeat[:, row], values) for values in possible)


def test_divisions_are_drawn_by_their_seed() -> None:
    rows = outcomes(*[["abcd", "dcba", "bdac"]] * 6)
    qrels = {f"q{row}": dict.fromkeys("abce", 1.0) for row in range(6)}
    first, again, other = (half_values(rows, qrels, NDCG, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert first.shape[0] == pytest.approx(10)
