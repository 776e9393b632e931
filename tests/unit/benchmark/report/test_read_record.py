"""A collection's object as the report understands it."""

from __future__ import annotations

from typing import Any

import pytest

from rl_rewriter.benchmark.report.arms import Versus, read_arms
from rl_rewriter.benchmark.report.fields import Fields
from rl_rewriter.benchmark.report.read_record import read_record
from rl_rewriter.benchmark.report.record import Record
from rl_rewriter.errors import InputError

BARE: dict[str, Any] = {
    "name": "shop",
    "retriever": "chroma",
    "n_queries": 20,
    "metric": "ndcg@10",
    "actions": {"keep": 0.5, "keywords": 0.4},
    "best_fixed": {"action": "keep", "value": 0.5},
    "policy": {"value": 0.6, "hurt_share": 0.1, "helped_share": 0.3, "action_share": {"keep": 1}},
    "oracle": 0.7,
}


def record(**values: Any) -> Record:
    return read_record(Fields({**BARE, **values}, "results.json"))


def test_the_keys_of_the_contract_are_enough() -> None:
    found = record()
    assert (found.name, found.retriever, found.metric) == ("shop", "chroma", "ndcg@10")
    assert found.values == {"keep": 0.5, "best_fixed": 0.5, "policy": 0.6, "oracle": 0.7}
    assert (found.helped_share, found.hurt_share) == (0.3, 0.1)
    assert found.n == "20 held-out queries"
    assert (found.versus_keep, found.room, found.verdict) == (None, None, None)
    assert (found.kinds, found.calibration, found.notes) == ((), (), ())


@pytest.mark.parametrize("key", ["name", "retriever"])
def test_a_collection_without_name_or_retriever_is_refused(key: str) -> None:
    with pytest.raises(InputError, match=f"results.json: {key} must be there"):
        record(**{key: None})


def test_arms_come_best_first_under_the_names_that_readers_see() -> None:
    arms = {
        "keep": {"label": "KEEP", "value": 0.5},
        "policy": {"value": 0.6, "ci95": [0.5, 0.7], "cost": 0.01, "versus_keep": {"delta": 0.1}},
        "llm:hyde": {"label": "HyDE", "value": 0.55, "metrics": {"mrr@10": 0.4, "map@10": None}},
        "broken": {"label": "no value"},
    }
    found = record(arms=arms).arms
    assert [(arm.name, arm.label) for arm in found] == [
        ("policy", "policy"),
        ("llm:hyde", "HyDE"),
        ("keep", "keep (the query as it is)"),
    ]
    assert found[0].ci95 == (0.5, 0.7)
    assert found[0].rates == {"cost": 0.01}
    assert found[0].versus_keep == Versus(0.1)
    assert found[1].metrics == {"mrr@10": 0.4}


def test_without_arms_the_means_of_the_contract_become_arms_without_intervals() -> None:
    found = read_arms(Fields(BARE, "results.json"))
    assert [(arm.name, arm.value, arm.ci95) for arm in found] == [
        ("oracle", 0.7, None),
        ("policy", 0.6, None),
        ("keep", 0.5, None),
        ("best_fixed", 0.5, None),
        ("keywords", 0.4, None),
    ]


def test_kinds_come_largest_first() -> None:
    kinds = {"rare": {"n": 2, "keep": 0.1}, "common": {"n": 18, "action_share": {"keep": 1.0}}}
    found = record(by_kind=kinds).kinds
    assert [(kind.name, kind.n) for kind in found] == [("common", 18), ("rare", 2)]
    assert found[1].values == {"keep": 0.1}


def test_bins_without_both_gains_are_left_out() -> None:
    bins = [{"predicted": 0.1, "true": 0.2, "n": 5, "ci95": [0.1, 0.3]}, {"predicted": 0.3, "n": 0}]
    [found] = record(calibration=bins).calibration
    assert (found.predicted, found.true, found.n, found.ci95) == (0.1, 0.2, 5, (0.1, 0.3))


@pytest.mark.parametrize(
    ("versus", "direction"),
    [
        (Versus(0.1, (0.05, 0.15), 0.01, 0.02), 1),
        (Versus(-0.1, (-0.15, -0.05), 0.01, 0.02), -1),
        (Versus(0.1, (-0.05, 0.15), 0.01, 0.02), 0),
        (Versus(0.1, (0.05, 0.15), 0.01, 0.06), 0),
        (Versus(0.1, (0.05, 0.15), 0.06, None), 0),
        (Versus(0.1, (0.05, 0.15)), 1),
        (Versus(0.1, None, 0.001, 0.001), 0),
    ],
)
def test_a_difference_is_sure_when_interval_and_corrected_p_agree(
    versus: Versus, direction: int
) -> None:
    assert versus.direction == direction


def test_a_wrong_type_names_its_path() -> None:
    with pytest.raises(InputError, match=r"results.json: arms.keep.ci95\[0\] must be a finite"):
        record(arms={"keep": {"value": 0.5, "ci95": ["a", "b"]}})
    with pytest.raises(InputError, match=r"results.json: calibration\[0\] must be an object"):
        record(calibration=[1])
