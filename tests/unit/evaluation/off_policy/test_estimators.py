from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rl_rewriter.errors import InputError
from rl_rewriter.evaluation.off_policy.estimators import (
    ESTIMATORS,
    NEEDS_MODEL,
    dm,
    dr,
    dr_shrink,
    ips,
    shrunk,
    sndr,
    snips,
    switch_dr,
)
from rl_rewriter.evaluation.off_policy.sample import LoggedSample
from tests.unit.evaluation.off_policy.worlds import by_hand, world

SEEDS = st.integers(0, 10_000)


def test_the_estimators_by_hand() -> None:
    """Weights 2, 0, 4, 1; expected .5, .5, .5, .5; residuals .5, -.25, .5, .5."""
    sample = by_hand()
    assert ips(sample).value == pytest.approx((2.0 + 4.0 + 0.5) / 4)
    assert snips(sample).value == pytest.approx(6.5 / 7)
    assert dm(sample).value == pytest.approx(0.5)
    assert dr(sample).value == pytest.approx(0.5 + (1.0 + 2.0 + 0.5) / 4)
    assert sndr(sample).value == pytest.approx(0.5 + 3.5 / 7)
    assert switch_dr(sample, 2.0).value == pytest.approx(0.5 + (1.0 + 0.5) / 4)
    # Weights shrunk by scale 4: 8 / 8, 0, 16 / 20, 4 / 5.
    assert dr_shrink(sample, 4.0).value == pytest.approx(0.5 + (0.5 + 0.4 + 0.4) / 4)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_contributions_average_to_the_estimate(name: str) -> None:
    estimate = ESTIMATORS[name](by_hand())
    assert estimate.values().shape == (4,)
    assert estimate.values().mean() == pytest.approx(estimate.value)


@given(st.integers(0, 20))
def test_biased_estimators_lie_between_dm_and_dr_at_their_ends(seed: int) -> None:
    sample = world(seed=seed % 5).sample(40, seed)
    assert switch_dr(sample, 0.0).value == pytest.approx(dm(sample).value)
    assert switch_dr(sample, np.inf).value == pytest.approx(dr(sample).value)
    assert dr_shrink(sample, 0.0).value == pytest.approx(dm(sample).value)
    assert dr_shrink(sample, np.inf).value == pytest.approx(dr(sample).value)


def test_shrunken_weights_are_bounded_and_never_larger() -> None:
    weights = np.linspace(0.0, 1000.0, 10_001)
    after = shrunk(weights, 25.0)
    assert after.max() == pytest.approx(np.sqrt(25.0) / 2)
    assert (after <= weights).all()
    with pytest.raises(InputError, match="must not be negative"):
        shrunk(weights, -1.0)


@given(SEEDS)
def test_the_logging_policy_is_worth_what_was_logged(seed: int) -> None:
    logged = world(spread=2.0)
    sample = logged.sample(30, seed, target=logged.logging)
    assert ips(sample).value == pytest.approx(sample.rewards.mean())
    assert snips(sample).value == pytest.approx(sample.rewards.mean())


@given(SEEDS, st.floats(-5.0, 5.0), st.floats(0.1, 5.0))
def test_self_normalised_and_model_based_estimates_move_with_the_scale_of_rewards(
    seed: int, shift: float, factor: float
) -> None:
    """What IPS doesn't: adding a constant to all rewards changes its variance."""
    sample = world(spread=0.0).sample(30, seed)
    assume(sample.weights.any())
    assert sample.predicted is not None
    moved = LoggedSample(
        rewards=shift + factor * sample.rewards,
        actions=sample.actions,
        propensities=sample.propensities,
        target=sample.target,
        predicted=shift + factor * sample.predicted,
    )
    for estimator in (snips, dm, dr, sndr):
        expected = shift + factor * estimator(sample).value
        assert estimator(moved).value == pytest.approx(expected, abs=1e-9)


@given(SEEDS)
def test_snips_stays_within_the_rewards_that_were_seen(seed: int) -> None:
    sample = world(spread=3.0).sample(20, seed)
    if sample.weights.any():
        low, high = sample.rewards.min(), sample.rewards.max()
        assert low - 1e-9 <= snips(sample).value <= high + 1e-9


@pytest.mark.parametrize("estimator", [ips, dr])
def test_the_mean_over_all_possible_logs_is_the_true_value(estimator: object) -> None:
    """Two records of one state and two actions: all 16 logs, each with its probability."""
    chances, logging, target = np.asarray([0.25, 0.75]), np.asarray([0.8, 0.2]), [0.4, 0.6]
    total = mean = 0.0
    for log in product(product((0, 1), (0.0, 1.0)), repeat=2):
        actions, rewards = zip(*log, strict=True)
        probability = np.prod(
            [
                logging[a] * (chances[a] if r else 1.0 - chances[a])
                for a, r in zip(actions, rewards, strict=True)
            ]
        )
        sample = LoggedSample(
            rewards=np.asarray(rewards),
            actions=np.asarray(actions),
            propensities=logging[list(actions)],
            target=np.asarray([target, target]),
            predicted=np.asarray([[0.9, 0.1], [0.3, 0.2]]),  # as wrong as it likes
        )
        total += probability
        mean += probability * estimator(sample).value  # type: ignore[operator]
    assert total == pytest.approx(1.0)
    assert mean == pytest.approx(0.4 * 0.25 + 0.6 * 0.75)


def test_the_direct_method_needs_no_propensities_and_no_other_does_without() -> None:
    sample = by_hand(propensities=[np.nan, 0.5, 0.5, 0.5])
    assert dm(sample).value == pytest.approx(0.5)
    for name, estimator in ESTIMATORS.items():
        if name != "dm":
            with pytest.raises(InputError, match="1 of 4 records have no propensity"):
                estimator(sample)


def test_a_self_normalised_estimate_without_any_weight_is_refused() -> None:
    sample = by_hand(target=[[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert ips(sample).value == 0.0
    for estimator in (snips, sndr):
        with pytest.raises(InputError, match="all importance weights are 0"):
            _ = estimator(sample).value


def test_estimators_that_need_a_model_are_named() -> None:
    for name, estimator in ESTIMATORS.items():
        if name in NEEDS_MODEL:
            with pytest.raises(InputError, match="needs predicted rewards"):
                estimator(by_hand(predicted=None))
        else:
            assert estimator(by_hand(predicted=None)).value == estimator(by_hand()).value
