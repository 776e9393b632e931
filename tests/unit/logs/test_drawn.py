"""Drawn weights through real logs: served, written, converted, and read as arrays."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_rewriter.errors import InputError
from rl_rewriter.logs.convert import convert, write_records
from rl_rewriter.logs.dataset import dataset
from rl_rewriter.logs.drawn import MAX_VIEWS, has_draw
from rl_rewriter.logs.reader import read_records
from rl_rewriter.logs.schema import problem_of
from rl_rewriter.policies.exploration import Exploration
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.rewriter import RLQueryRewriter
from tests.logged import decision, feedback
from tests.support import QUERIES, TokenEmbedder, blend_checkpoint, chroma_collection

KEYS = ("blends", "sigma", "weights", "log_density")
DRAWN: dict[str, Any] = {
    "action": "blend",
    "probabilities": {"keep": 0.5, "blend": 0.5},
    "blends": {"blend": "v1"},
    "sigma": 0.5,
    "weights": {"query": 0.8, "first_3": 0.2, "last_answer": 0.0},
    "log_density": -0.4,
}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a rewriter over Chroma wrote: the blend and keep, drawn in turn."""
    folder = tmp_path_factory.mktemp("log")
    retriever = chroma_retriever(chroma_collection(), TokenEmbedder(), cache_dir=folder)
    rewriter = RLQueryRewriter(
        retriever,
        checkpoint=blend_checkpoint(retriever),
        log=folder / "log.jsonl",
        log_queries="none",
        exploration=Exploration(around="keep", epsilon=0.7, sigma=0.5),
        seed=1,
    )
    for number in range(40):
        found = rewriter.retrieve(QUERIES[number % len(QUERIES)], k=3, explore=True)
        assert rewriter.record(found.decision, found.ranking)
        rewriter.feedback(found.decision.id, 1.0)
    return folder / "log.jsonl"


def test_served_draws_come_back_as_arrays(log: Path) -> None:
    bandit, report = dataset(log)
    assert report.rows == 40
    records = [record for record in read_records(log) if record["type"] == "decision"]
    logits, densities, sigmas = bandit.drawn_logits, bandit.log_densities, bandit.sigmas
    assert logits is not None
    assert densities is not None
    assert sigmas is not None
    assert sigmas.tolist() == [0.5] * 40
    is_blend = bandit.actions == bandit.action_names.index("blend")
    assert 0 < is_blend.sum() < 40
    assert (has_draw(logits) == is_blend).all()
    assert (densities[~is_blend] == 0.0).all()
    for row, record in enumerate(records):
        assert bandit.blends[row] == record["blends"]
        assert bandit.policy_versions[row] == record["policy_version"]
        if not is_blend[row]:
            assert not {"weights", "log_density"} & record.keys()
            continue
        assert densities[row] == record["log_density"]
        weights = np.asarray([record["weights"][view] for view in bandit.views])
        found = np.exp(logits[row])
        np.testing.assert_allclose(found / found.sum(), weights, rtol=1e-12)
    assert {record["query"] for record in records} == {None}


def test_parts_of_a_log_keep_what_belongs_to_them(log: Path) -> None:
    bandit, _ = dataset(log)
    part = bandit.subset([7, 3])
    for name in ("drawn_logits", "log_densities", "sigmas"):
        np.testing.assert_array_equal(getattr(part, name), getattr(bandit, name)[[7, 3]])
    assert part.blends == (bandit.blends[7], bandit.blends[3])
    assert part.views == bandit.views


def test_both_forms_of_the_log_say_the_same(log: Path, tmp_path: Path) -> None:
    convert(log, tmp_path / "log.parquet", strict=True)
    assert list(read_records(tmp_path / "log.parquet")) == list(read_records(log))
    there, here = (dataset(path)[0] for path in (tmp_path / "log.parquet", log))
    np.testing.assert_array_equal(there.drawn_logits, here.drawn_logits)
    np.testing.assert_array_equal(there.log_densities, here.log_densities)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.floats(1e-6, 1.0), min_size=2, max_size=6),
    st.floats(1e-3, 10.0),
    st.floats(0.0, 30.0),
)
def test_weights_and_densities_are_written_without_loss(
    tmp_path_factory: pytest.TempPathFactory, raw: list[float], sigma: float, off: float
) -> None:
    folder = tmp_path_factory.getbasetemp()
    weights = {f"view {number}": weight / sum(raw) for number, weight in enumerate(raw)}
    highest = -(len(raw) - 1) * (math.log(sigma) + 0.5 * math.log(2.0 * math.pi))
    record = decision("1", **{**DRAWN, "weights": weights, "sigma": sigma})
    record["log_density"] = highest - off
    records = [record, feedback("1")]
    write_records(records, folder / "drawn.jsonl")
    write_records(records, folder / "drawn.parquet")
    for name in ("drawn.jsonl", "drawn.parquet"):
        assert list(read_records(folder / name, strict=True)) == records
        bandit, _ = dataset(folder / name)
        assert bandit.log_densities is not None
        assert bandit.log_densities.tolist() == [highest - off]


def test_a_log_without_draws_is_read_as_before() -> None:
    bandit, _ = dataset([decision("1"), feedback("1")])
    assert bandit.drawn_logits is None
    assert bandit.views == ()
    assert bandit.blends == ({},)
    assert bandit.log_densities is not None
    assert bandit.log_densities.tolist() == [0.0]
    assert bandit.sigmas is not None
    assert np.isnan(bandit.sigmas).all()


def test_views_by_hand() -> None:
    """Not drawn, drawn over two of three views, and over views that another blend has."""
    other = {**DRAWN, "weights": {"words": 0.5, "query": 0.5}}
    bandit, _ = dataset(
        [
            *(decision("1"), feedback("1")),
            *(decision("2", **DRAWN), feedback("2")),
            *(decision("3", **other), feedback("3")),
        ]
    )
    assert bandit.views == ("query", "first_3", "last_answer", "words")
    half = math.log(4.0) / 2.0
    nan, inf = math.nan, math.inf
    expected = [[nan] * 4, [half, -half, -inf, nan], [0.0, nan, nan, 0.0]]
    assert bandit.drawn_logits is not None
    np.testing.assert_allclose(bandit.drawn_logits, np.asarray(expected))


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"sigma": None}, "has not all of weights, log_density and sigma"),
        ({"log_density": None}, "has not all of weights, log_density and sigma"),
        ({"weights": {}}, "has not all of weights, log_density and sigma"),
        ({"weights": {"query": 0.4}}, "has weights that sum to 0.4, not 1"),
        ({"sigma": 1e-200}, "has sigma 1e-200, which isn't from 0.001 to 10.0"),
        ({"log_density": 3.0}, "has log_density 3 of weights whose highest is -0.225791"),
        ({"log_density": -1e300}, r"has log_density -1e\+300 of weights whose highest"),
    ],
)
def test_draws_that_contradict_themselves_are_left_out(
    changed: dict[str, Any], sentence: str
) -> None:
    wrong = decision("2", **{**DRAWN, **changed})
    records = [decision("1", **DRAWN), feedback("1"), wrong, feedback("2")]
    bandit, report = dataset(records)
    [problem] = report.problems
    assert re.search(f"number 3 {sentence}.*, and was left out", problem)
    assert bandit.decision_ids == ("1",)
    assert sum(report.counts.values()) == 1


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("weights", {"query": -0.5}),
        ("weights", [0.5]),
        ("log_density", "high"),
        ("log_density", math.inf),
        ("sigma", 0.0),
        ("blends", {"blend": 1}),
        ("blends", "v1"),
    ],
)
def test_values_of_other_types_make_no_record(key: str, value: Any) -> None:
    assert problem_of(decision("1", **DRAWN)) is None
    problem = problem_of(decision("1", **{**DRAWN, key: value}))
    assert problem is not None
    assert problem.reason == f"bad_{key}"
    assert problem_of(decision("1", **dict.fromkeys(KEYS))) is None


def test_no_log_names_more_views_than_blends_have() -> None:
    many = {f"view {number}": 1.0 / (MAX_VIEWS + 1) for number in range(MAX_VIEWS + 1)}
    record = decision("1", **{**DRAWN, "weights": many, "log_density": -30.0})
    with pytest.raises(InputError, match="decision 1 brings the views to more than 100"):
        dataset([record, feedback("1")])


def test_records_of_a_policy_without_a_blend_have_no_further_keys(tmp_path: Path) -> None:
    retriever = chroma_retriever(chroma_collection(), TokenEmbedder(), cache_dir=tmp_path)
    exploration = Exploration(sigma=0.5)
    rewriter = RLQueryRewriter(retriever, log=tmp_path / "log.jsonl", exploration=exploration)
    rewriter.explore_untrained()
    found = rewriter.retrieve(QUERIES[0], k=3, explore=True)
    rewriter.record(found.decision, found.ranking)
    [line] = (tmp_path / "log.jsonl").read_text().splitlines()
    assert not {*KEYS} & json.loads(line).keys()
