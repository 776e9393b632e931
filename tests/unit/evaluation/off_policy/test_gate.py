from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rl_rewriter.errors import InputError
from rl_rewriter.evaluation.off_policy.estimators import dr, snips
from rl_rewriter.evaluation.off_policy.gate import Baseline, gate
from rl_rewriter.evaluation.off_policy.gate_config import GateConfig
from rl_rewriter.evaluation.off_policy.intervals import student_t
from rl_rewriter.evaluation.off_policy.sample import LoggedSample
from rl_rewriter.evaluation.off_policy.verdict import Verdict
from rl_rewriter.logs.dataset_report import DatasetReport
from tests.forms import assert_has_form
from tests.unit.evaluation.off_policy.worlds import world

FORM = {
    "schema": int,
    "promote": bool,
    "delta": float,
    "ci95": [float, float],
    "baseline": str,
    "estimator": str,
    "reason": str,
    "records_needed": int,
    "p_value": float,
}
UNIFORM = world(spread=0.0)
GOOD = UNIFORM.sample(3000, 0)
LOGGED = Baseline("logged")
KEEP = Baseline("keep", np.tile([1.0, 0.0, 0.0, 0.0], (3000, 1)))


def verdict(
    sample: LoggedSample, baseline: Baseline = LOGGED, age_days: float | None = None, **config: Any
) -> Verdict:
    return gate({"it": sample}, baseline, GateConfig(**config), age_days=age_days)["it"]


def hardly_better(seed: int) -> LoggedSample:
    """A policy that takes the better action in 57 cases of 100 and the worst one in the others."""
    worst = np.eye(4)[UNIFORM.expected.argmin(axis=1)]
    return UNIFORM.sample(400, seed, target=0.57 * UNIFORM.target + 0.43 * worst)


# Promoted


def test_a_policy_whose_gain_is_shown_is_promoted() -> None:
    found = verdict(GOOD)
    record = json.loads(json.dumps(found.to_json()))
    assert_has_form(record, FORM)
    assert (found.promote, found.estimator, found.records_needed) == (True, "dr", 0)
    assert found.reason.startswith("the gain is shown: +0.2")
    gain = UNIFORM.value - float((UNIFORM.logging * UNIFORM.expected).sum(axis=1).mean())
    assert found.ci95 is not None
    assert found.ci95[0] < gain < found.ci95[1]


def test_the_difference_is_paired() -> None:
    """To a baseline that decides mostly alike the gain is known far better than either value."""
    close = 0.9 * GOOD.target + 0.1 * 0.25
    found = verdict(GOOD, Baseline("other", close))
    assert found.ci95 is not None
    alone = student_t(dr(GOOD)).interval()
    assert np.subtract(*found.ci95) > 0.2 * np.subtract(*alone)
    expected = student_t(dr(GOOD) - dr(replace(GOOD, target=close)))
    assert found.ci95 == expected.interval()


def test_what_was_logged_is_the_mean_reward_where_its_probabilities_are_unknown() -> None:
    bare = replace(GOOD, logging=None)
    found = verdict(bare, estimator="snips")
    assert found.delta == pytest.approx(snips(bare).value - bare.rewards.mean())
    assert verdict(GOOD, estimator="snips").delta == pytest.approx(found.delta)


def test_the_margin_has_to_be_exceeded() -> None:
    bound = student_t(dr(GOOD) - dr(replace(GOOD, target=GOOD.logging))).lower_bound(0.975)  # type: ignore[arg-type]
    assert verdict(GOOD, margin=bound - 1e-6).promote
    assert not verdict(GOOD, margin=bound + 1e-6).promote
    assert not verdict(GOOD, level=0.999, margin=bound - 1e-6).promote


# Refused


@pytest.mark.parametrize("estimator", ["dr", "snips", "ips", "sndr"])
def test_a_policy_that_decides_as_the_baseline_gains_nothing(estimator: str) -> None:
    assert GOOD.logging is not None
    found = verdict(replace(GOOD, target=GOOD.logging), estimator=estimator)
    assert (found.promote, found.delta, found.records_needed) == (False, 0.0, None)
    assert found.reason.startswith("no gain above the margin 0")
    same = verdict(replace(GOOD, target=KEEP.target), KEEP, estimator=estimator)  # type: ignore[arg-type]
    assert (same.promote, same.delta) == (False, 0.0)


def test_a_gain_that_is_not_shown_is_told_with_the_records_that_would_show_it() -> None:
    """Power of 80% at one-sided 2.5%: the gain is 1.96 + .842 errors of the larger sample."""
    sample = hardly_better(0)
    assert sample.logging is not None
    gain = student_t(dr(sample) - dr(replace(sample, target=sample.logging)))
    assert 0 < gain.value < 1.96 * gain.error
    found = verdict(sample)
    assert not found.promote
    assert found.reason.startswith("the gain isn't shown")
    total = 400 * ((1.96 + 0.8416) * gain.error / gain.value) ** 2
    assert found.records_needed == pytest.approx(total - 400, rel=0.01)


def test_a_worse_policy_is_refused_and_more_records_would_not_help() -> None:
    worst = np.eye(4)[UNIFORM.expected.argmin(axis=1)]
    found = verdict(UNIFORM.sample(3000, 0, target=worst))
    assert (found.promote, found.records_needed) == (False, None)
    assert found.delta is not None
    assert found.delta < 0
    assert found.reason.startswith("no gain above the margin 0")


def test_too_few_records_are_refused_whatever_they_say() -> None:
    found = verdict(UNIFORM.sample(60, 0))
    assert not found.promote
    assert found.reason.startswith("too few records: 60, at least 100 are needed")
    assert found.records_needed is not None
    assert found.records_needed >= 40


def test_conversations_count_once() -> None:
    found = verdict(replace(GOOD, groups=np.arange(3000) // 50))
    assert found.reason.startswith("too few conversations: 60, at least 100 are needed")
    assert found.records_needed == 2000


def test_few_effective_records_are_refused() -> None:
    found = verdict(world(spread=6.0).sample(300, 0))
    assert not found.promote
    assert "the effective sample size is" in found.reason
    assert found.records_needed is not None
    assert found.records_needed > 100


def test_decisions_outside_the_log_are_refused() -> None:
    logging = np.asarray(GOOD.logging).copy()
    logging[:400] = (1.0 - GOOD.target[:400]) / 3  # 13% of the decisions had no chance
    found = verdict(replace(GOOD, logging=logging))
    assert (found.promote, found.records_needed) == (False, None)
    assert found.reason.startswith("13.3% of the decisions of the policy are actions that were")
    assert verdict(replace(GOOD, logging=logging), max_outside_support=0.2, margin=-1.0).promote


def test_a_baseline_outside_the_log_is_refused_too() -> None:
    never_kept = GOOD.subset(np.flatnonzero(GOOD.actions != 0))
    target = np.tile([1.0, 0.0, 0.0, 0.0], (len(never_kept), 1))
    no_zero = never_kept.target.copy()
    no_zero[no_zero[:, 0] == 1.0] = [0.0, 1.0, 0.0, 0.0]
    sample = replace(
        never_kept,
        target=no_zero,
        propensities=np.full(len(target), 1 / 3),
        logging=np.tile([0.0, 1 / 3, 1 / 3, 1 / 3], (len(target), 1)),
    )
    found = verdict(sample, Baseline("keep", target))
    assert not found.promote
    assert found.delta is None
    assert found.reason.startswith("100.0% of the decisions of keep are actions that were never")


def test_wrong_propensities_are_refused() -> None:
    found = verdict(replace(GOOD, propensities=np.full(3000, 0.5)))
    assert not found.promote
    assert found.reason.startswith("the propensities can't be right: importance weights of the")


def test_an_old_log_is_refused_where_age_matters() -> None:
    assert verdict(GOOD, age_days=400.0).promote
    found = verdict(GOOD, age_days=400.0, max_age_days=90.0)
    assert not found.promote
    assert found.reason.startswith("the latest record is 400 days old, more than 90")


def test_records_without_propensities_are_left_out_or_refused() -> None:
    some = np.where(np.arange(3000) < 1000, np.nan, GOOD.propensities)
    rest = gate({"it": GOOD.subset(np.arange(1000, 3000))}, LOGGED)["it"]
    assert verdict(replace(GOOD, propensities=some)).delta == rest.delta
    none = verdict(replace(GOOD, propensities=np.full(3000, np.nan)))
    assert (none.promote, none.delta, none.records_needed) == (False, None, None)
    assert none.reason.startswith("none of the 3000 records has a propensity")
    assert none.to_json()["ci95"] == [None, None]


def test_a_log_without_any_decision_of_the_policy_gives_no_number() -> None:
    sample = GOOD.subset(np.flatnonzero(GOOD.target[np.arange(3000), GOOD.actions] == 0.0))
    found = verdict(sample, min_ess=0.0, max_outside_support=1.0)
    assert (found.promote, found.delta) == (False, None)
    assert "can't be estimated" in found.reason


@pytest.mark.parametrize("estimator", ["dr", "snips", "ips", "sndr"])
def test_equal_rewards_tell_nothing(estimator: str) -> None:
    """Gains that are 0 on paper are off by rounding, and so is their error."""
    found = verdict(replace(GOOD, rewards=np.ones(3000)), estimator=estimator)
    assert not found.promote
    assert found.reason.startswith("all rewards are 1: nothing tells actions apart; log bad")
    assert found.records_needed is None


@pytest.mark.parametrize(
    ("feedback", "off_scale", "lost", "refused"),
    [(100, 1, 1, False), (100, 2, 0, True), (1000, 2, 2, True), (0, 0, 0, False)],
)
def test_rewards_that_were_lost_refuse(
    feedback: int, off_scale: int, lost: int, refused: bool
) -> None:
    read = DatasetReport(
        records=1000,
        decisions=100,
        feedback=feedback,
        rows=100,
        defaulted=0,
        without_propensity=0,
        counts={"off_scale": lost},
        feedback_counts={"off_scale": off_scale},
        skipped={},
        off_scale={"user_score": off_scale},
        problems=(),
    )
    found = gate({"it": GOOD}, LOGGED, read=read)["it"]
    assert found.promote is not refused
    if refused:
        assert found.reason.startswith(
            f"{off_scale} of {feedback} feedback values are off their scale (of kind 'user_score')"
        )


# Several candidates


def test_several_candidates_are_corrected() -> None:
    """What is enough for one isn't for the best of three."""
    logs = (hardly_better(seed) for seed in range(200))
    sample = next(log for log in logs if 0.01 < verdict(log).p_value < 0.025)
    assert verdict(sample).promote
    assert sample.logging is not None
    same = replace(sample, target=sample.logging)
    together = gate({"it": sample, "a": same, "b": same}, LOGGED)
    assert not together["it"].promote
    assert together["it"].p_value == pytest.approx(3 * verdict(sample).p_value)
    corrected = f"p = {together['it'].p_value:.2g} is not below 0.025 after correction for 3 "
    assert corrected in together["it"].reason
    assert "not above the margin" not in together["it"].reason  # the bound of it alone is above it
    assert "with 97.5% confidence" in together["it"].reason


def test_with_snips_or_few_records_no_model_is_used() -> None:
    assert verdict(replace(GOOD, predicted=None)).estimator == "snips"
    assert verdict(UNIFORM.sample(150, 0)).estimator == "snips"
    assert verdict(UNIFORM.sample(150, 0), estimator="dr").estimator == "dr"


def test_equal_policies_are_promoted_no_more_often_than_the_level_allows() -> None:
    """Two mixtures of equal value that decide differently."""
    value = (UNIFORM.expected.mean(axis=0)).argsort()
    target, other = np.zeros((500, 4)), np.zeros((500, 4))
    low, middle, high = UNIFORM.expected.mean(axis=0)[value[[0, 1, 3]]]
    share = (middle - low) / (high - low)
    target[:, value[3]], target[:, value[0]] = share, 1.0 - share
    other[:, value[1]] = 1.0
    promoted = 0
    for seed in range(200):
        sample = UNIFORM.sample(400, seed, target=target)
        promoted += verdict(sample, Baseline("other", np.tile(other[0], (400, 1)))).promote
    assert promoted <= 13  # 2.5% of 200, and what chance allows beyond it at 99.9 in 100


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"margin": float("nan")}, "margin must be a finite number, got nan"),
        ({"level": 0.4}, "level must lie between 0.5 and 1, got 0.4"),
        ({"level": 1.0}, "level must lie between 0.5 and 1, got 1.0"),
        ({"estimator": "dm"}, "estimator must be one of auto, ips, snips, dr, sndr, got 'dm'"),
        ({"max_outside_support": 2.0}, "max_outside_support must be a share from 0 to 1"),
        ({"min_ess": -1.0}, "min_ess must not be negative and min_records at least 2"),
        (
            {"max_age_days": float("nan")},
            "max_age_days must be a number of days from 0 on, got nan",
        ),
        ({"max_age_days": -1.0}, "max_age_days must be a number of days from 0 on, got -1.0"),
        ({"min_records": 1}, "min_ess must not be negative and min_records at least 2"),
    ],
)
def test_thresholds_that_mean_nothing_are_refused(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        GateConfig(**settings)
