from __future__ import annotations

import numpy as np
import pytest

from rl_rewriter.evaluation.off_policy.contributions import Contributions, Part
from rl_rewriter.evaluation.off_policy.diagnostics import effective_size
from rl_rewriter.evaluation.off_policy.estimators import dr
from rl_rewriter.evaluation.off_policy.sample import LoggedSample
from rl_rewriter.evaluation.off_policy.tuning import (
    least_error,
    tuned_dr_shrink,
    tuned_switch_dr,
)
from tests.unit.evaluation.off_policy.worlds import by_hand, world


def heavy(expected: float, *, n: int = 4000) -> LoggedSample:
    """One record in a hundred has weight 100, the others none; rewards are fair coins.

    Args:
        expected: What the model says of every action.
        n: Records.
    """
    rng = np.random.default_rng(0)
    actions = (np.arange(n) % 100 == 0).astype(np.intp)
    return LoggedSample(
        rewards=(rng.random(n) < 0.5).astype(np.float64),
        actions=actions,
        propensities=np.where(actions == 1, 0.01, 0.99),
        target=np.tile([0.0, 1.0], (n, 1)),
        predicted=np.full((n, 2), expected),
    )


def test_a_right_model_is_trusted_where_weights_are_heavy() -> None:
    sample = heavy(0.5)
    tuned = tuned_dr_shrink(sample)
    assert tuned.weights.max() < 0.8 * sample.weights.max()
    assert abs(tuned.contributions.value - 0.5) < abs(dr(sample).value - 0.5)


def test_a_wrong_model_is_not_trusted() -> None:
    for tune in (tuned_dr_shrink, tuned_switch_dr):
        tuned = tune(heavy(0.0))
        assert effective_size(tuned.weights) == pytest.approx(40.0, rel=0.1)
        assert tuned.weights.max() > 50.0


def test_settings_belong_to_their_weights() -> None:
    sample = world(spread=2.0).sample(500, 0)
    switch, shrink = tuned_switch_dr(sample), tuned_dr_shrink(sample)
    assert switch.weights.max() <= switch.setting
    assert shrink.weights.max() <= np.sqrt(shrink.setting) / 2 + 1e-9
    assert not (shrink.weights > sample.weights + 1e-9).any()


def test_a_log_without_any_weight_leaves_the_direct_method() -> None:
    sample = by_hand(target=[[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    for tune in (tuned_switch_dr, tuned_dr_shrink):
        assert tune(sample).contributions.value == pytest.approx(sample.expected.mean())


def test_the_rule_weighs_bias_against_variance() -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(size=1000)
    noise -= noise.mean()
    unbiased = Contributions((Part(1.0 + noise),))
    halfway = Contributions((Part(1.01 + 0.5 * noise),))
    far_off = Contributions((Part(1.5 + 0.1 * noise),))
    assert least_error([unbiased, halfway, far_off]) == 1
    assert least_error([unbiased, far_off]) == 0
