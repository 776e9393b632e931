"""Run files, as other tools read them."""

from __future__ import annotations

from pathlib import Path

import ir_measures
import numpy as np
import pytest

from rl_rewriter.benchmark.comparison.compared import Compared
from rl_rewriter.benchmark.comparison.trec import run_lines
from rl_rewriter.envs.outcomes import Outcomes
from rl_rewriter.types import Query

MEASURES = {
    "ndcg@10": ir_measures.nDCG @ 10,
    "mrr@10": ir_measures.RR @ 10,
    "recall@10": ir_measures.R @ 10,
    "map@10": ir_measures.AP @ 10,
    "hits@10": ir_measures.P @ 10,  # times ten
}


def outcomes(documents: tuple[str, ...], ranked: list[list[list[int]]]) -> Outcomes:
    n, m = len(ranked), len(ranked[0])
    return Outcomes(
        queries=tuple(Query(f"text {i}", id=f"q {i}") for i in range(n)),
        action_names=("keep", "a1")[:m],
        columns=(),
        features=np.zeros((n, 0), np.float32),
        mask=np.ones((n, m), np.bool_),
        applied=np.ones((n, m), np.bool_),
        documents=documents,
        ranked=np.array(ranked, dtype=np.int32),
        effort=np.zeros((n, m, 4), np.int16),
    )


def test_lines_are_those_of_the_chosen_action() -> None:
    found = outcomes(("a", "b", "c"), [[[0, 1, 2], [2, 0, -1]], [[1, 1, 0], [-1, -1, -1]]])
    assert list(run_lines(found, np.array([1, 0]), "mine")) == [
        "q%200 Q0 c 1 2 mine\n",
        "q%200 Q0 a 2 1 mine\n",
        "q%201 Q0 b 1 2 mine\n",
        "q%201 Q0 a 2 1 mine\n",
    ]
    assert list(run_lines(found, np.array([0, 1]), "mine"))[3:] == []


def test_white_space_in_ids_is_encoded() -> None:
    found = outcomes(("a b\tc\u3000d",), [[[0]]])
    [line] = run_lines(found, np.array([0]), "two words")
    assert line == "q%200 Q0 a%20b%09c%E3%80%80d 1 0 two%20words\n"


@pytest.mark.parametrize("arm", ["keep", "best_fixed", "policy", "oracle"])
@pytest.mark.parametrize("metric", MEASURES)
def test_ir_measures_finds_the_same_metrics(
    compared: Compared, written: Path, arm: str, metric: str
) -> None:
    path = written / "runs" / f"{arm}.run"
    run = list(ir_measures.read_trec_run(str(path)))  # type: ignore[no-untyped-call]
    qrels = [
        ir_measures.Qrel(query.id, document, int(grade))
        for query in compared.queries
        for document, grade in compared.bench.qrels[query.id].items()
    ]
    scale = 10.0 if metric == "hits@10" else 1.0
    measured = {
        found.query_id: found.value * scale
        for found in ir_measures.iter_calc([MEASURES[metric]], qrels, run)
    }
    expected = compared.held_out.by_seed(arm, metric)[0]
    assert len(measured) == len(compared.queries)
    for query, value in zip(compared.queries, expected, strict=True):
        assert measured[query.id] == pytest.approx(value, abs=1e-9)
    assert expected.max() > 0


def test_run_files_have_six_columns_and_falling_scores(compared: Compared, written: Path) -> None:
    lines = (written / "runs" / "policy.run").read_text().splitlines()
    rows = [line.split(" ") for line in lines]
    assert {len(row) for row in rows} == {6}
    assert {row[1] for row in rows} == {"Q0"}
    for query in compared.queries:
        own = [row for row in rows if row[0] == query.id]
        assert [int(row[3]) for row in own] == list(range(1, len(own) + 1))
        assert [int(row[4]) for row in own] == list(range(9, 9 - len(own), -1))
