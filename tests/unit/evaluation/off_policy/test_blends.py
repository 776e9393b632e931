"""Blends judged by logs of other blends: by densities where weights were drawn, else not at all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rl_rewriter.evaluation.off_policy.diagnostics import outside_support, overlap
from rl_rewriter.evaluation.off_policy.evaluate import evaluate_off_policy
from rl_rewriter.evaluation.off_policy.from_log import JudgedLog
from rl_rewriter.evaluation.off_policy.gate import Baseline, gate
from rl_rewriter.evaluation.off_policy.sample import LoggedSample
from rl_rewriter.logs.bandit import LoggedBandit
from rl_rewriter.policies.checkpoint import Checkpoint
from tests.unit.evaluation.off_policy.blend_worlds import (
    VIEWS,
    BlendWorld,
    blend_policy,
    several,
)

WORLD = BlendWorld()
LOGGED = blend_policy(0.4, 0.2, 0.2, 0.2)
BETTER = blend_policy(0.34, 0.32, 0.17, 0.17, by_state=0.1)


def sample_of(log: LoggedBandit, policy: Checkpoint) -> LoggedSample:
    return JudgedLog.of(log, [policy]).sample_of(policy)


@pytest.mark.parametrize("policy", [LOGGED, BETTER], ids=["same", "other"])
def test_intervals_hold_the_true_value_of_the_gaussian_policy(policy: Checkpoint) -> None:
    """95% intervals of 60 logs: 50 at least hold it, which exact ones fail once in a thousand."""
    truth = WORLD.value(policy)
    held = dict.fromkeys(("ips", "snips", "dr"), 0)
    values = []
    for seed in range(60):
        found = evaluate_off_policy(sample_of(WORLD.log(LOGGED, 1000, seed=seed), policy))
        values.append(found.estimates["dr"].value)
        for name in held:
            low, high = found.estimates[name].ci95
            held[name] += low < truth < high
    assert min(held.values()) >= 50, held
    error = np.std(values) / np.sqrt(len(values))
    assert abs(np.mean(values) - truth) < 4.0 * error + 0.001


def test_without_the_ratios_another_blend_would_be_believed_to_earn_what_was_logged() -> None:
    gain = WORLD.value(BETTER) - WORLD.value(LOGGED)
    assert gain > 0.1, gain
    sample = sample_of(WORLD.log(LOGGED, 4000), BETTER)
    weighted = evaluate_off_policy(sample).estimates["snips"].value
    silent = evaluate_off_policy(replace(sample, ratios=None)).estimates["snips"].value
    assert weighted - silent == pytest.approx(gain, abs=0.05)


def test_the_logged_policy_itself_weighs_every_draw_alike() -> None:
    sample = sample_of(WORLD.log(LOGGED, 500), LOGGED)
    assert sample.ratios is not None
    np.testing.assert_allclose(sample.ratios, 1.0, rtol=1e-4)
    assert outside_support(sample) == 0.0


def test_overlap_is_what_two_gaussians_have() -> None:
    """``ESS / n = exp(-d^2)`` for centres ``d`` standard deviations apart."""
    log = WORLD.log(LOGGED, 20_000)
    sample = sample_of(log, BETTER)
    assert log.drawn_logits is not None
    taken = np.flatnonzero(log.actions == 1)
    present = np.isfinite(log.drawn_logits[taken])
    ours, theirs = (
        WORLD.distribution(policy, log.states[taken], present) for policy in (BETTER, LOGGED)
    )
    expected = np.exp(2.0 * ours.kl(theirs)).mean()
    found = overlap(sample)
    assert len(taken) / found.ess == pytest.approx(expected, rel=0.1)
    assert found.mean_weight == pytest.approx(1.0, abs=0.03)
    assert not found.has_wrong_weights


def test_the_gate_promotes_a_better_blend_by_its_draws() -> None:
    judged = JudgedLog.of(WORLD.log(LOGGED, 4000), [BETTER, LOGGED])
    for baseline in (Baseline("logged"), judged.baseline("rival", LOGGED)):
        verdict = gate({"it": judged.sample_of(BETTER)}, baseline)["it"]
        assert verdict.promote, verdict.reason
        assert verdict.estimator == "snips"  # the reward model of dr doesn't see weights
    rival = judged.baseline("rival", BETTER)
    verdict = gate({"it": judged.sample_of(LOGGED)}, rival)["it"]
    assert not verdict.promote
    assert verdict.ci95 is not None
    low, high = verdict.ci95
    assert low < WORLD.value(LOGGED) - WORLD.value(BETTER) < high


def test_a_log_that_drew_no_weights_says_nothing_of_other_ones() -> None:
    log = WORLD.log(LOGGED, 1000, draws=False)
    judged = JudgedLog.of(log, [BETTER])
    assert judged.action_names == ("keep", "blend", f"blend {BETTER.blends[0].head.version}")
    sample = judged.sample_of(BETTER)
    assert sample.ratios is None
    assert outside_support(sample) == 1.0
    assert not sample.weights.any()
    verdict = gate({"it": sample}, Baseline("logged"))["it"]
    assert not verdict.promote
    assert verdict.reason == (
        "100.0% of the decisions of the policy are actions that were never logged or had no "
        f"chance, more than 5%: among them the blend 'blend' of policy {BETTER.version}, whose "
        "numbers or views aren't known to be those of the blend that was logged there: log with "
        "Exploration(sigma=...), which draws weights, to compare blends"
    )
    [note] = judged.notes()
    assert note.startswith(
        f"100% of the records say nothing of the blend 'blend' of policy {BETTER.version}"
    )


def test_the_same_numbers_are_the_same_action_whatever_policy_takes_them() -> None:
    log = WORLD.log(LOGGED, 1000, draws=False)
    likes_less = blend_policy(0.4, 0.2, 0.2, 0.2, likes=1.0)
    assert likes_less.version != LOGGED.version
    judged = JudgedLog.of(log, [likes_less, LOGGED])
    assert judged.action_names == ("keep", "blend")
    assert judged.notes() == []
    sample = judged.sample_of(likes_less)
    assert outside_support(sample) == 0.0
    expected = np.where(log.actions == 1, 1.0 / WORLD.share, 0.0)
    np.testing.assert_allclose(sample.weights, expected)


def test_logs_from_before_blends_had_versions_go_by_the_policys() -> None:
    log = WORLD.log(LOGGED, 1000, draws=False)
    log = replace(log, blends=(), sigmas=None, log_densities=None, views=())
    assert outside_support(sample_of(log, LOGGED)) == 0.0
    likes_less = blend_policy(0.4, 0.2, 0.2, 0.2, likes=1.0)
    assert outside_support(sample_of(log, likes_less)) == 1.0
    # Where the logged policy is at hand, its numbers are known.
    both = JudgedLog.of(log, [likes_less, LOGGED])
    assert outside_support(both.sample_of(likes_less)) == 0.0
    unknown = replace(log, policy_versions=())
    assert outside_support(sample_of(unknown, LOGGED)) == 1.0


def test_a_log_that_drew_in_part_speaks_in_part() -> None:
    drew, served = WORLD.log(LOGGED, 3000), WORLD.log(LOGGED, 1000, seed=1, draws=False)
    log = several(drew, served)
    sample = sample_of(log, BETTER)
    assert outside_support(sample) == pytest.approx(0.25)
    assert not sample.weights[3000:].any()
    alone = sample_of(drew, BETTER)
    np.testing.assert_allclose(sample.weights[:3000], alone.weights)
    assert outside_support(sample_of(log, LOGGED)) == 0.0


def test_each_record_is_weighed_by_the_blend_that_drew_it() -> None:
    middle = blend_policy(0.35, 0.3, 0.2, 0.15)
    log = several(WORLD.log(LOGGED, 3000), WORLD.log(middle, 3000, seed=1))
    found = evaluate_off_policy(sample_of(log, BETTER))
    low, high = found.estimates["snips"].ci95
    assert low < WORLD.value(BETTER) < high


def test_a_log_without_any_blend_is_refused_as_for_any_action_it_lacks() -> None:
    log = replace(WORLD.log(LOGGED, 500, draws=False), action_names=("keep", "keywords"))
    judged = JudgedLog.of(log, [BETTER])
    assert judged.action_names == ("keep", "keywords", "blend")
    assert judged.notes() == []
    verdict = gate({"it": judged.sample_of(BETTER)}, Baseline("logged"))["it"]
    assert "log with a policy that gives them some" in verdict.reason


def test_where_the_blend_was_not_possible_there_is_nothing_to_say() -> None:
    log = WORLD.log(LOGGED, 400, draws=False)
    mask, probabilities = log.mask.copy(), log.probabilities.copy()
    mask[:200, 1], probabilities[:200] = False, (1.0, 0.0)
    actions = np.where(np.arange(400) < 200, 0, log.actions)
    propensities = probabilities[np.arange(400), actions]
    changed = {"mask": mask, "probabilities": probabilities, "propensities": propensities}
    sample = sample_of(replace(log, actions=actions, **changed), BETTER)
    assert outside_support(sample) == pytest.approx(0.5)
    assert (sample.target[:200, 0] == 1.0).all()


@pytest.mark.parametrize("views", [VIEWS[:3], (*VIEWS, "words_expanded")], ids=["fewer", "more"])
def test_a_blend_of_other_views_is_not_compared(views: tuple[str, ...]) -> None:
    other = blend_policy(*(1.0 / len(views) for _ in views), views=views)
    sample = sample_of(WORLD.log(LOGGED, 500), other)
    assert outside_support(sample) == 1.0
    assert sample.ratios is None


def test_the_order_of_views_does_not_matter() -> None:
    log = WORLD.log(LOGGED, 500)
    turned = blend_policy(0.2, 0.5, 0.3, 0.1, views=("query", "words", "first_3", "bm25_3"))
    straight = blend_policy(0.2, 0.3, 0.1, 0.5)
    ours, theirs = (sample_of(log, policy).ratios for policy in (turned, straight))
    assert ours is not None
    assert theirs is not None
    np.testing.assert_allclose(ours, theirs, rtol=1e-4)


def test_baselines_and_parts_keep_the_ratios_of_their_records() -> None:
    log = WORLD.log(LOGGED, 400)
    unknown = log.propensities.copy()
    unknown[::4] = np.nan
    judged = JudgedLog.of(replace(log, propensities=unknown), [BETTER, LOGGED])
    sample = judged.sample_of(BETTER)
    known = np.flatnonzero(~np.isnan(unknown))
    assert sample.ratios is not None
    part = sample.subset(known).ratios
    assert part is not None
    np.testing.assert_allclose(part, sample.ratios[known])
    verdict = gate({"it": sample}, judged.baseline("itself", BETTER))["it"]
    assert verdict.delta == pytest.approx(0.0, abs=1e-12)


def test_what_is_judged_is_said() -> None:
    [note] = JudgedLog.of(WORLD.log(LOGGED, 400), [BETTER]).notes()
    assert f"the blend 'blend' of policy {BETTER.version} is judged with weights drawn" in note
