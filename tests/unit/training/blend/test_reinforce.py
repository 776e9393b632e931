"""Tuning on the metric itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rl_rewriter.rewards.metrics import Metric
from rl_rewriter.training.blend.config import FineTuneConfig
from rl_rewriter.training.blend.network import SameForAll, Shifted, generator_of
from rl_rewriter.training.blend.objective import weights_of
from rl_rewriter.training.blend.reinforce import Tuning, fine_tune
from rl_rewriter.types import Vector
from tests.unit.training.blend.parts import judge_of, world

N = 200
ROWS = np.arange(N)
DRAWN = world(N)
JUDGE = judge_of(DRAWN.pools, DRAWN.states)
START: Vector = np.asarray([1.0, 0.0, 0.0, 0.0], dtype=np.float32)
TUNE = FineTuneConfig(steps=60, batch_size=100, samples=8, learning_rate=0.05, network_rate=0.03)


def value(model: SameForAll | Shifted) -> float:
    everything = JUDGE.everything
    weights = weights_of(model(everything.states), everything.present).detach().numpy()
    return float(JUDGE.values(ROWS, weights).mean())


def tuned(**changes: float) -> tuple[SameForAll, Tuning]:
    model = SameForAll(START)
    config = replace(TUNE, **changes)  # type: ignore[arg-type]  # numbers all
    return model, fine_tune(model, JUDGE, ROWS, START, config, generator_of(0))


def test_the_metric_rises() -> None:
    model, tuning = tuned()
    assert value(model) > value(SameForAll(START)) + 0.05
    assert np.mean(tuning.gains[-10:]) > np.mean(tuning.gains[:10])


def test_networks_are_tuned_as_well() -> None:
    model = Shifted(START, 2, 8, generator_of(1))
    fine_tune(model, JUDGE, ROWS, START, TUNE, generator_of(0))
    assert value(model) > value(tuned()[0])
    assert np.array_equal(model.bias.numpy(), START)


def test_a_larger_beta_stays_closer_to_the_reference() -> None:
    kls = [tuned(beta=beta)[1].kl for beta in (0.0, 0.1, 1.0)]
    assert kls == sorted(kls, reverse=True)
    assert kls[2] < 0.1 * kls[0]


def test_the_kl_is_that_of_gaussians_over_present_views() -> None:
    present = DRAWN.pools.present.copy()
    present[:, 3] = False
    judge = judge_of(replace(DRAWN.pools, present=present))
    model = SameForAll(START + np.asarray([0.4, 0.0, 0.0, 5.0], dtype=np.float32))
    still = replace(TUNE, steps=1, learning_rate=1e-9, sigma=0.4)
    assert fine_tune(model, judge, ROWS, START, still, generator_of(0)).kl == pytest.approx(0.5)


def test_any_metric_can_be_followed() -> None:
    judge = replace(JUDGE, metric=Metric("mrr", 5))
    model = SameForAll(START)
    tuning = fine_tune(model, judge, ROWS, START, TUNE, generator_of(0))
    assert np.mean(tuning.gains[-10:]) > np.mean(tuning.gains[:10])


def test_the_same_seed_gives_the_same_numbers() -> None:
    assert np.array_equal(tuned()[0].numpy(), tuned()[0].numpy())


def test_no_steps_change_nothing() -> None:
    assert np.array_equal(tuned(steps=0)[0].numpy(), START)


def test_where_all_draws_are_worth_the_same_nothing_moves() -> None:
    flat = replace(DRAWN.pools, gains=np.zeros_like(DRAWN.pools.gains))
    model = SameForAll(START)
    fine_tune(model, judge_of(flat), ROWS, START, TUNE, generator_of(0))
    assert model.numpy() == pytest.approx(START)
