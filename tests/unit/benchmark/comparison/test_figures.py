"""The object of ``results.json``: figures recomputed from what was found."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rl_rewriter.benchmark.comparison.compared import Compared
from rl_rewriter.benchmark.comparison.figures import Record, collection_record, percentile
from rl_rewriter.evaluation.comparison import compare
from rl_rewriter.evaluation.significance import bootstrap_interval, holm
from tests.forms import COLLECTION, assert_has_form


@pytest.fixture(scope="module")
def record(compared: Compared) -> Record:
    return collection_record(compared, {"embed": 1.23456})


def test_the_record_has_the_published_form(record: Record) -> None:
    assert_has_form(record, COLLECTION)


def test_figures_of_the_policy(compared: Compared, record: Record) -> None:
    held_out = compared.held_out
    policy, keep = held_out.of("policy"), held_out.of("keep")
    found = record["policy"]
    assert found["value"] == pytest.approx(policy.mean())
    each = [(seed < keep - 1e-9, seed > keep + 1e-9) for seed in held_out.by_seed("policy")]
    assert found["hurt_share"] == pytest.approx(np.mean([hurt.mean() for hurt, _ in each]))
    assert found["helped_share"] == pytest.approx(np.mean([helped.mean() for _, helped in each]))
    assert sum(found["action_share"].values()) == pytest.approx(1.0)
    assert record["seed_values"] == pytest.approx(held_out.by_seed("policy").mean(axis=1))
    assert np.mean(record["seed_values"]) == pytest.approx(found["value"])
    # Evidence is a first ranking and BM25's; what isn't kept is searched again, fused ones twice.
    rows = np.arange(len(held_out))
    again = compared.outcomes.effort[rows, held_out.choices["policy"], 1]
    assert found["searches_per_query"] == pytest.approx(2.0 + again.mean())


def test_tests_are_paired_and_grouped(compared: Compared, record: Record) -> None:
    held_out = compared.held_out
    groups = compared.bench.groups_of(compared.queries)
    for name, baseline in (("policy_vs_keep", "keep"), ("policy_vs_best_fixed", "best_fixed")):
        expected = compare(held_out.of("policy"), held_out.of(baseline), groups=groups)
        assert record["tests"][name] == expected.to_json()


def test_every_arm_has_its_figures(compared: Compared, record: Record) -> None:
    held_out, arms = compared.held_out, record["arms"]
    assert set(arms) == set(held_out.choices)
    groups = compared.bench.groups_of(compared.queries)
    for name in ("keywords", "policy", "random", "oracle"):
        arm = arms[name]
        assert arm["value"] == pytest.approx(held_out.of(name).mean())
        assert arm["ci95"] == pytest.approx(bootstrap_interval(held_out.of(name), groups=groups))
        assert arm["metrics"]["ndcg@10"] == pytest.approx(arm["value"])
        assert arm["metrics"]["mrr@10"] == pytest.approx(held_out.of(name, "mrr@10").mean())
        gains = np.sort(held_out.by_seed(name) - held_out.of("keep"), axis=1)
        assert arm["worst_decile"] == pytest.approx(gains[:, :6].mean())
    assert arms["keep"]["versus_keep"] is None
    assert arms["keep"]["searches_per_query"] == 1.0
    assert arms["fuse_bm25@0.4"]["searches_per_query"] == 3.0
    assert arms["policy"]["versus_keep"] == record["tests"]["policy_vs_keep"]
    assert record["actions"] == {
        name: pytest.approx(arms[name]["value"]) for name in compared.actions.names
    }


def test_arms_beside_the_policy_are_corrected_together(record: Record) -> None:
    others = {
        name: arm["versus_keep"]
        for name, arm in record["arms"].items()
        if name not in ("keep", "policy", "oracle")
    }
    expected = holm([test["p_value"] for test in others.values()])
    assert [test["p_holm"] for test in others.values()] == pytest.approx(expected)
    assert any(test["p_holm"] > test["p_value"] for test in others.values())


def test_hindsight_is_not_tested_together_with_others(record: Record) -> None:
    test = record["arms"]["oracle"]["versus_keep"]
    assert test["p_holm"] is None
    assert 0 <= test["p_value"] <= 1


def test_figures_by_kind(compared: Compared, record: Record) -> None:
    kinds = record["by_kind"]
    assert list(kinds) == [f"form {form}" for form in range(5)]
    assert {kind["n"] for kind in kinds.values()} == {12}
    mine = np.array(compared.kinds) == "form 0"
    assert kinds["form 0"]["policy"] == pytest.approx(compared.held_out.of("policy")[mine].mean())
    assert sum(kinds["form 0"]["action_share"].values()) == pytest.approx(1.0)


def test_calibration_is_of_the_queries_that_arent_kept(compared: Compared, record: Record) -> None:
    changed = compared.chosen > 0
    bins = record["calibration"]
    assert sum(part["n"] for part in bins) == changed.sum() > 10
    gains = compared.held_out.by_seed("policy")[0] - compared.held_out.of("keep")
    total = sum(part["n"] * part["true"] for part in bins)
    assert total == pytest.approx(gains[changed].sum())
    predicted = [part["predicted"] for part in bins]
    assert predicted == sorted(predicted)


def test_a_policy_that_keeps_everything_has_no_calibration(compared: Compared) -> None:
    choices = {**compared.held_out.choices, "policy": np.zeros((1, 60), dtype=np.intp)}
    held_out = dataclasses.replace(compared.held_out, choices=choices)
    kept = collection_record(dataclasses.replace(compared, held_out=held_out))
    assert kept["calibration"] == []
    assert kept["policy"]["action_share"] == {"keep": 1.0}
    assert kept["tests"]["policy_vs_keep"]["p_value"] == 1.0


def test_where_and_how_long(compared: Compared, record: Record) -> None:
    assert (record["name"], record["n_documents"], record["n_queries"]) == ("shop", 24, 60)
    assert (record["retriever"], record["embedder"]) == ("tfidf", "tfidf")
    assert (record["metric"], record["protocol"]) == ("ndcg@10", "cv3")
    assert (record["folds"], record["seeds"], record["n_train"]) == (3, [0, 1], 40)
    seconds = record["seconds"]
    assert seconds["embed"] == 1.235
    assert min(seconds.values()) > 0
    assert seconds["decide_p50_ms"] <= seconds["decide_p95_ms"]
    assert record["notes"][0].startswith("12 documents with the words of another")
    assert record["notes"][-1] == (
        "policy figures are means over 2 seeds; runs/policy.run, action and text are the first "
        "seed's"
    )


def test_percentiles() -> None:
    assert percentile([1.0, 2.0, 3.00049], 50) == 2.0
    assert percentile([1.0, 2.00049], 100) == 2.0
    assert percentile([], 50) == 0.0
