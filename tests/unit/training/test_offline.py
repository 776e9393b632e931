"""From logged outcomes alone: what was logged is learned, what wasn't never is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rl_rewriter.actions.space import default_actions
from rl_rewriter.errors import InputError
from rl_rewriter.evaluation.off_policy.unseen import unseen
from rl_rewriter.logs.bandit import LoggedBandit
from rl_rewriter.logs.held_out import held_out
from rl_rewriter.policies.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.training.config import FitConfig, ReinforceConfig
from rl_rewriter.training.imputed import ImputeConfig
from rl_rewriter.training.offline import OfflineConfig, fit_policy_to_logs
from rl_rewriter.training.offline_report import LogFitReport, interval_of_gain
from rl_rewriter.types import Needs
from tests.bandits import FEATURES, NAMES, bandit, truth_of

KNOWN = default_actions(~Needs.NOTHING)
TERMS = CollectionStatistics.from_texts(["money back", "parcel"])
QUICK = OfflineConfig(
    fit=FitConfig(
        reinforce=ReinforceConfig(updates=150, warm_up=20, learning_rate=0.01, evaluate_every=25)
    )
)


def fit(
    log: LoggedBandit, config: OfflineConfig = QUICK, **settings: Any
) -> tuple[Checkpoint, LogFitReport]:
    return fit_policy_to_logs(log, known=KNOWN, statistics=TERMS, config=config, **settings)


def value(checkpoint: Checkpoint, seed: int = 99) -> float:
    """True value on states that were never logged."""
    states = bandit(1000, seed=seed).states
    mask = np.ones((1000, len(checkpoint.actions)), dtype=np.bool_)
    chosen = checkpoint.policy.distribution(checkpoint.features.standardised(states), mask).greedy()
    columns = [NAMES.index(name) for name in checkpoint.actions.names]
    return float(truth_of(states)[np.arange(1000), np.asarray(columns)[chosen]].mean())


@pytest.fixture(scope="module")
def learned() -> tuple[Checkpoint, LogFitReport]:
    return fit(bandit())


def test_it_learns_to_choose_by_state(learned: tuple[Checkpoint, LogFitReport]) -> None:
    checkpoint, report = learned
    best = truth_of(bandit(1000, seed=99).states).max(axis=1).mean()
    assert value(checkpoint) > 0.4 + 0.8 * (best - 0.4)
    assert report.validation["policy"] > report.validation["best_fixed"]
    assert report.validation["best_fixed"] > report.validation["keep"]


def test_the_report_says_what_was_learned_from(learned: tuple[Checkpoint, LogFitReport]) -> None:
    checkpoint, report = learned
    assert report.n_records == 2000
    assert report.policy_version == checkpoint.policy.version
    assert report.warnings == ()
    assert report.best_fixed in NAMES
    assert checkpoint.training["best_fixed"] == report.best_fixed
    left, _ = unseen(bandit(), [checkpoint])
    assert len(left) == held_out(bandit().groups, 0.2).sum()
    assert checkpoint.training["algorithm"] == "reinforce-offline"


def test_the_policy_can_be_saved_and_loaded(
    learned: tuple[Checkpoint, LogFitReport], tmp_path: Path
) -> None:
    save_checkpoint(learned[0], tmp_path / "policy")
    assert load_checkpoint(tmp_path / "policy").policy.version == learned[0].policy.version


def test_an_action_that_was_hardly_logged_is_not_learned() -> None:
    log = bandit()
    rare = log.actions == 2
    rare[np.flatnonzero(rare)[:5]] = False
    careful = replace(QUICK, impute=ImputeConfig(least_records=10))
    checkpoint, report = fit(log.subset(~rare), careful)
    assert checkpoint.actions.names == ("keep", "keywords")
    assert report.unsupported == ("fuse_bm25@0.4",)
    assert "logged too rarely" in report.warnings[0]


def test_an_action_that_was_never_logged_is_not_learned() -> None:
    log = bandit()
    checkpoint, report = fit(log.subset(log.actions != 2))
    assert checkpoint.actions.names == ("keep", "keywords")
    assert report.unsupported == ("fuse_bm25@0.4",)


def test_an_action_that_only_held_out_records_took_is_not_learned() -> None:
    log = bandit()
    out = held_out(log.groups, QUICK.fit.validation_share, seed=QUICK.fit.reinforce.seed)
    checkpoint, report = fit(log.subset(out | (log.actions != 2)))
    assert checkpoint.actions.names == ("keep", "keywords")
    assert report.unsupported == ("fuse_bm25@0.4",)


def test_an_unknown_action_is_left_out() -> None:
    names = ("keep", "keywords", "imported:rewrite")
    checkpoint, report = fit(bandit(action_names=names))
    assert checkpoint.actions.names == ("keep", "keywords")
    assert report.unsupported == ("imported:rewrite",)


def test_on_noise_no_gain_is_shown_on_held_out_records() -> None:
    """What the training records' accidents suggest isn't found again where they aren't known."""
    gains = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        _, report = fit(bandit(1500, seed=seed, rewards=rng.random(1500)))
        gains.append(report.validation["policy"] - report.validation["keep"])
        assert (report.gain_ci95[0] > 0) == (not report.warnings)
    assert abs(np.mean(gains)) < 0.05
    assert sum(gain > 0.05 for gain in gains) <= 2


def test_the_interval_of_a_gain_knows_conversations() -> None:
    gains = np.repeat(np.asarray([0.0, 1.0, 0.0, 1.0]), 25)
    alone = interval_of_gain(gains, [str(row) for row in range(100)])
    together = interval_of_gain(gains, [str(row // 25) for row in range(100)])
    assert alone == pytest.approx((0.5 - 1.96 * 0.05, 0.5 + 1.96 * 0.05))
    assert together == pytest.approx((0.5 - 1.96 * 0.25, 0.5 + 1.96 * 0.25))


def test_decisions_without_propensity_are_told() -> None:
    unknown = np.full(2000, 1 / 3)
    unknown[:50] = np.nan
    _, report = fit(bandit(propensities=unknown))
    assert "50 decisions have no propensity" in report.warnings[0]


@pytest.mark.parametrize(
    ("hold", "reference"), [(True, False), (False, True)], ids=["to the log", "to a policy"]
)
def test_it_can_be_held_to_another_reference(
    learned: tuple[Checkpoint, LogFitReport], hold: bool, reference: bool
) -> None:
    kl = replace(QUICK.fit.reinforce.kl, beta=10.0)
    strong = replace(QUICK.fit, reinforce=replace(QUICK.fit.reinforce, kl=kl))
    config = replace(QUICK, fit=strong, hold_to_log=hold)
    checkpoint, report = fit(bandit(), config, reference=learned[0] if reference else None)
    assert report.kl < 0.5
    states = checkpoint.features.standardised(bandit(50, seed=3).states)
    found = checkpoint.policy.distribution(states, np.ones((50, 3), dtype=np.bool_)).probabilities
    if hold:
        assert found == pytest.approx(np.full((50, 3), 1 / 3), abs=0.2)


def test_the_best_weight_of_the_kl_term_is_taken() -> None:
    _, report = fit(bandit(), replace(QUICK, betas=(50.0, 0.001)))
    assert report.beta == 0.001
    assert report.episodes == 2 * QUICK.fit.reinforce.episodes


def test_few_records_and_unknown_terms_are_told() -> None:
    _, report = fit_policy_to_logs(
        bandit(300), known=KNOWN, statistics=CollectionStatistics(), config=QUICK
    )
    assert "only 300 usable decisions" in report.warnings[0]
    assert "term weights aren't known" in report.warnings[1]


@pytest.mark.parametrize(
    ("log", "what"),
    [
        (lambda: bandit(50, states=np.zeros((50, 0), np.float32)), "holds no states"),
        (lambda: bandit(50, propensities=np.full(50, np.nan)), "no decision of the log has a prop"),
        (lambda: bandit(50, columns_fingerprint="other"), "state_schema 'other'"),
        (
            lambda: bandit(50, action_names=("keep", "x", "y"), actions=np.ones(50, np.intp)),
            "none of the 50 decisions",
        ),
    ],
)
def test_a_log_that_nothing_can_be_learned_from_says_why(
    log: Callable[[], LoggedBandit], what: str
) -> None:
    with pytest.raises(InputError, match=what):
        fit(log())


def test_equal_seeds_learn_equal_policies() -> None:
    first, again = fit(bandit(400))[0], fit(bandit(400))[0]
    assert first.policy.version == again.policy.version
    assert FEATURES.fingerprint == first.features.fingerprint
