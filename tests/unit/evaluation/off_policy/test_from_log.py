from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rl_rewriter.errors import InputError
from rl_rewriter.evaluation.off_policy.diagnostics import outside_support
from rl_rewriter.evaluation.off_policy.evaluate import evaluate_off_policy
from rl_rewriter.evaluation.off_policy.from_log import JudgedLog
from rl_rewriter.evaluation.off_policy.gate import Baseline, gate
from tests.unit.evaluation.off_policy.logs import N_COLUMNS, policy_that_likes, uniform_log

SELECTIVE = policy_that_likes(1)  # keywords where it is good, else keep


def test_a_policy_is_asked_about_standardised_states() -> None:
    log = uniform_log()
    judged = JudgedLog.of(log, [SELECTIVE])
    target = judged.of_policy(SELECTIVE)
    assert (target.argmax(axis=1) == np.where(log.states[:, 0] > 10.0, 1, 0)).all()
    assert set(target.ravel()) == {0.0, 1.0}


def test_its_value_is_found_and_its_gain_is_shown() -> None:
    """Keywords earns .9 on one half, keep .5 on the other; uniform logging .5."""
    judged = JudgedLog.of(uniform_log(3000), [SELECTIVE])
    sample = judged.sample(judged.of_policy(SELECTIVE))
    found = evaluate_off_policy(sample)
    low, high = found.estimates["dr"].ci95
    assert low < 0.7 < high
    assert found.warnings == ()
    for baseline in (Baseline("logged"), Baseline("keep", judged.keep())):
        verdict = gate({"it": sample}, baseline)["it"]
        assert verdict.promote
        assert verdict.delta == pytest.approx(0.2, abs=0.06)


def test_with_exploration_the_policys_own_distribution_is_judged() -> None:
    mild = policy_that_likes(1, strength=0.5)
    log = uniform_log()
    judged = JudgedLog.of(log, [mild])
    states = mild.features.standardised(log.states)
    expected = mild.policy.distribution(states, log.mask).probabilities
    assert judged.of_policy(mild, explore=True) == pytest.approx(expected)
    assert judged.of_policy(mild, explore=True).max() < 1.0


def test_what_could_not_be_carried_out_is_not_taken() -> None:
    mask = np.ones((600, 3), dtype=np.bool_)
    mask[:, 1] = False
    probabilities = np.tile([0.5, 0.0, 0.5], (600, 1))
    log = uniform_log(
        mask=mask,
        probabilities=probabilities,
        propensities=np.full(600, 0.5),
        actions=np.arange(600) % 2 * 2,
    )
    judged = JudgedLog.of(log, [SELECTIVE])
    target = judged.of_policy(SELECTIVE)
    assert not target[:, 1].any()
    assert outside_support(judged.sample(target)) == 0.0


def test_actions_are_found_by_name() -> None:
    log = uniform_log(action_names=("keep", "topic", "keywords"))
    judged = JudgedLog.of(log, [SELECTIVE])
    assert judged.action_names == ("keep", "topic", "keywords")
    assert set(judged.of_policy(SELECTIVE).argmax(axis=1)) == {0, 2}


def test_an_action_that_was_never_logged_is_outside_the_log() -> None:
    log = uniform_log(action_names=("keep", "other", "topic"))
    judged = JudgedLog.of(log, [SELECTIVE])
    assert judged.action_names == ("keep", "other", "topic", "keywords")
    sample = judged.sample(judged.of_policy(SELECTIVE))
    half = (log.states[:, 0] > 10.0).mean()
    assert outside_support(sample) == pytest.approx(half)
    verdict = gate({"it": sample}, Baseline("logged"))["it"]
    assert not verdict.promote
    assert "were never logged or had no chance" in verdict.reason


def test_a_logged_action_that_the_policy_does_not_know_is_never_taken() -> None:
    judged = JudgedLog.of(uniform_log(), [SELECTIVE])
    assert not judged.of_policy(SELECTIVE)[:, 2].any()


def test_conversations_stay_together() -> None:
    judged = JudgedLog.of(uniform_log(groups=tuple(f"c{row // 3}" for row in range(600))), [])
    groups = judged.sample(judged.keep()).groups
    assert groups is not None
    assert (np.diff(groups.reshape(200, 3), axis=1) == 0).all()
    assert judged.sample(judged.keep()).n_independent == 200
    apart = JudgedLog.of(judged.log, [], independent=True)
    assert apart.sample(apart.keep()).groups is None
    assert (np.asarray(apart.predicted) == judged.predicted).all()  # its folds keep them together
    alone = JudgedLog.of(uniform_log(), [])
    assert alone.sample(alone.keep()).groups is None


def test_predicted_rewards_are_within_those_seen() -> None:
    judged = JudgedLog.of(uniform_log(groups=tuple(f"c{row // 3}" for row in range(600))), [])
    assert judged.predicted is not None
    assert 0.0 <= judged.predicted.min() < judged.predicted.max() <= 1.0


def test_a_single_conversation_has_no_reward_model() -> None:
    judged = JudgedLog.of(uniform_log(groups=("c",) * 600), [SELECTIVE])
    assert judged.predicted is None
    verdict = gate({"it": judged.sample(judged.of_policy(SELECTIVE))}, Baseline("logged"))["it"]
    assert verdict.reason.startswith("too few conversations: 1, at least 100 are needed")


def test_unknown_propensities_leave_the_direct_method() -> None:
    unknown = np.full((600, 3), np.nan)
    log = uniform_log(probabilities=unknown, propensities=unknown[:, 0])
    judged = JudgedLog.of(log, [SELECTIVE])
    found = evaluate_off_policy(judged.sample(judged.of_policy(SELECTIVE)))
    assert list(found.estimates) == ["dm"]


def test_without_states_rewards_are_not_predicted_and_policies_not_asked() -> None:
    log = uniform_log(states=np.empty((600, 0), dtype=np.float32), columns_fingerprint="")
    judged = JudgedLog.of(log, [])
    assert judged.predicted is None
    assert "snips" in evaluate_off_policy(judged.sample(judged.keep())).estimates
    with pytest.raises(InputError, match="the log holds no states"):
        JudgedLog.of(log, [SELECTIVE])


def test_states_of_other_features_are_refused() -> None:
    other = replace(uniform_log(), columns_fingerprint="abc")
    with pytest.raises(InputError, match=r"other features \(state_schema 'abc'\) than the policy"):
        JudgedLog.of(other, [SELECTIVE])


def test_states_have_the_columns_of_the_features() -> None:
    assert uniform_log().states.shape[1] == N_COLUMNS
