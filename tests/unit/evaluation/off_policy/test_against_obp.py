"""The same numbers as Open Bandit Pipeline, where that is installed (``pip install sb-obp``)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rl_rewriter.evaluation.off_policy.bootstrap import bootstrap
from rl_rewriter.evaluation.off_policy.contributions import Contributions, Part
from rl_rewriter.evaluation.off_policy.estimators import (
    dm,
    dr,
    dr_shrink,
    ips,
    sndr,
    snips,
    switch_dr,
)
from tests.unit.evaluation.off_policy.worlds import world

obp: Any = pytest.importorskip("obp.ope", reason="sb-obp isn't installed")
obp_utils: Any = pytest.importorskip("obp.utils")

SAMPLE = world(n_actions=5, spread=1.5).sample(2000, 0)
assert SAMPLE.predicted is not None
SHARED = {
    "action": SAMPLE.actions,
    "action_dist": SAMPLE.target[:, :, None],
    "reward": SAMPLE.rewards,
    "pscore": SAMPLE.propensities,
    "position": np.zeros(len(SAMPLE), dtype=int),
    "estimated_rewards_by_reg_model": SAMPLE.predicted[:, :, None],
}


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (obp.InverseProbabilityWeighting(), ips(SAMPLE)),
        (obp.SelfNormalizedInverseProbabilityWeighting(), snips(SAMPLE)),
        (obp.DirectMethod(), dm(SAMPLE)),
        (obp.DoublyRobust(), dr(SAMPLE)),
        (obp.SelfNormalizedDoublyRobust(), sndr(SAMPLE)),
        (obp.SwitchDoublyRobust(lambda_=3.0), switch_dr(SAMPLE, 3.0)),
        (obp.DoublyRobustWithShrinkage(lambda_=7.0), dr_shrink(SAMPLE, 7.0)),
    ],
    ids=lambda found: getattr(found, "estimator_name", ""),
)
def test_estimates_are_those_of_obp(theirs: Any, ours: Contributions) -> None:
    assert ours.value == pytest.approx(theirs.estimate_policy_value(**SHARED), rel=1e-9)


def test_bootstrap_intervals_are_those_of_obp() -> None:
    values = dr(world(spread=0.0).sample(2000, 0)).values()
    theirs = obp_utils.estimate_confidence_interval_by_bootstrap(
        values, n_bootstrap_samples=2000, random_state=1
    )
    low, high = bootstrap(Contributions((Part(values),)), draws=2000)
    width = high - low
    assert low == pytest.approx(theirs["95.0% CI (lower)"], abs=0.05 * width)
    assert high == pytest.approx(theirs["95.0% CI (upper)"], abs=0.05 * width)
