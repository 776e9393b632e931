from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from rl_rewriter.errors import InputError
from rl_rewriter.evaluation.off_policy.bootstrap import bootstrap
from rl_rewriter.evaluation.off_policy.estimators import dr, snips
from rl_rewriter.evaluation.off_policy.evaluate import EvaluationConfig, evaluate_off_policy
from rl_rewriter.evaluation.off_policy.intervals import student_t
from tests.forms import assert_has_form
from tests.unit.evaluation.off_policy.worlds import by_hand, world

NAMES = ("ips", "snips", "dm", "dr", "sndr", "switch_dr", "dr_shrink")
ESTIMATE = {"value": float, "ci95": [float, float], "ess": float, "max_weight": float}
FORM = {
    "schema": int,
    "n": int,
    "n_usable": int,
    "logged_value": float,
    "estimates": dict.fromkeys(NAMES, ESTIMATE),
    "warnings": list,
}


def test_the_printed_object_has_the_published_form() -> None:
    sample = world(spread=0.0).sample(300, 0)
    record = json.loads(json.dumps(evaluate_off_policy(sample).to_json()))
    assert_has_form(record, FORM)
    assert (record["n"], record["n_usable"], record["warnings"]) == (300, 300, [])
    assert record["logged_value"] == pytest.approx(sample.rewards.mean())
    assert record["estimates"]["dr"]["ci95"] == pytest.approx(student_t(dr(sample)).interval())
    assert record["estimates"]["ips"]["max_weight"] == pytest.approx(4.0)


def test_all_estimators_agree_where_much_was_logged() -> None:
    logged = world(spread=0.5)
    found = evaluate_off_policy(logged.sample(20_000, 0))
    for name in NAMES:
        # The direct method's model is linear and the world is not.
        close = 0.05 if name == "dm" else 0.03
        assert found.estimates[name].value == pytest.approx(logged.value, abs=close)


def test_records_without_a_propensity_are_left_out_and_counted() -> None:
    sample = world().sample(300, 0)
    unknown = np.arange(300) < 100
    partly = replace(sample, propensities=np.where(unknown, np.nan, sample.propensities))
    found = evaluate_off_policy(partly)
    assert (found.n, found.n_usable) == (300, 200)
    assert found.warnings[0].startswith("100 of 300 records have no propensity and were left out")
    rest = evaluate_off_policy(sample.subset(np.flatnonzero(~unknown)))
    assert found.estimates == rest.estimates


def test_without_any_propensity_the_direct_method_is_left() -> None:
    sample = world().sample(300, 0)
    found = evaluate_off_policy(replace(sample, propensities=np.full(300, np.nan)))
    assert list(found.estimates) == ["dm"]
    assert (found.n_usable, found.overlap) == (0, None)
    assert "the direct method alone is left" in found.warnings[0]
    with pytest.raises(InputError, match="nothing can be estimated"):
        evaluate_off_policy(by_hand(propensities=[np.nan] * 4, predicted=None))


def test_without_states_the_estimators_that_need_a_model_are_left_out() -> None:
    found = evaluate_off_policy(by_hand(predicted=None))
    assert list(found.estimates) == ["ips", "snips"]
    missing = "dm, dr, sndr, switch_dr, dr_shrink left out: the records hold no states"
    assert any(warning.startswith(missing) for warning in found.warnings)


def test_a_log_of_another_policy_altogether_gives_no_self_normalised_estimate() -> None:
    found = evaluate_off_policy(by_hand(target=[[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    assert list(found.estimates) == ["ips", "dm", "dr", "switch_dr", "dr_shrink"]
    expected = "snips, sndr left out: the policy would have taken none of the actions"
    assert expected in found.warnings


def test_an_open_interval_is_null_in_json() -> None:
    target = [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    found = evaluate_off_policy(by_hand(target=target, predicted=None)).to_json()
    assert found["estimates"]["snips"]["ci95"] == [None, None]


def test_the_interval_is_of_the_kind_asked_for() -> None:
    sample = world().sample(300, 0)
    kinds = {
        kind: evaluate_off_policy(sample, EvaluationConfig(interval=kind, seed=3)).estimates
        for kind in ("t", "bootstrap", "bernstein")
    }
    assert kinds["bootstrap"]["snips"].ci95 == bootstrap(snips(sample), seed=3)
    assert kinds["bernstein"]["snips"].ci95 == kinds["t"]["snips"].ci95
    widths = {kind: np.subtract(*found["dr"].ci95[::-1]) for kind, found in kinds.items()}
    assert widths["bernstein"] > 2 * widths["t"]
    wider = EvaluationConfig(interval="bernstein", reward_range=(-1.0, 2.0))
    low, high = evaluate_off_policy(sample, wider).estimates["dr"].ci95
    assert high - low > widths["bernstein"]


def test_groups_widen_the_interval() -> None:
    sample = world().sample(300, 0)
    doubled = sample.subset(np.repeat(np.arange(300), 2))
    grouped = evaluate_off_policy(replace(doubled, groups=np.repeat(np.arange(300), 2)))
    once, twice = evaluate_off_policy(sample), evaluate_off_policy(doubled)
    for name in NAMES:
        assert grouped.estimates[name].ci95 == pytest.approx(once.estimates[name].ci95, rel=1e-6)
        spread = np.subtract(*once.estimates[name].ci95[::-1])
        assert np.subtract(*twice.estimates[name].ci95[::-1]) < 0.8 * spread


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"interval": "normal"}, "interval must be t, bootstrap or bernstein, got 'normal'"),
        ({"reward_range": (1.0, 0.0)}, "the range of rewards is empty"),
    ],
)
def test_settings_that_mean_nothing_are_refused(
    settings: dict[str, object], complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        EvaluationConfig(**settings)  # type: ignore[arg-type]
