"""How long estimators with their intervals take on a million records, beside Open Bandit Pipeline.

The same arrays for both: 1,000,000 records of 10 actions with predicted rewards. Checking the
arrays counts; fitting a reward model doesn't, and is shown apart. Times are the medians of three
calls in turns. Where sb-obp isn't installed its columns stay empty. Run it from the repository
root: ``python -m benchmarks.ope_speed``.
"""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks._support import print_table
from rl_rewriter.evaluation.off_policy.bootstrap import bootstrap
from rl_rewriter.evaluation.off_policy.contributions import Contributions
from rl_rewriter.evaluation.off_policy.estimators import (
    dm,
    dr,
    dr_shrink,
    ips,
    sndr,
    snips,
    switch_dr,
)
from rl_rewriter.evaluation.off_policy.intervals import student_t
from rl_rewriter.evaluation.off_policy.sample import LoggedSample
from rl_rewriter.rewards.outcome_model import cross_fitted

N, N_ACTIONS, N_COLUMNS, DRAWS = 1_000_000, 10, 20, 100
REPEATS = 3
THRESHOLD = 5.0
OURS: dict[str, tuple[Callable[[LoggedSample], Contributions], str]] = {
    "ips": (ips, "InverseProbabilityWeighting"),
    "snips": (snips, "SelfNormalizedInverseProbabilityWeighting"),
    "dm": (dm, "DirectMethod"),
    "dr": (dr, "DoublyRobust"),
    "sndr": (sndr, "SelfNormalizedDoublyRobust"),
    "switch_dr": (lambda sample: switch_dr(sample, THRESHOLD), "SwitchDoublyRobust"),
    "dr_shrink": (lambda sample: dr_shrink(sample, THRESHOLD), "DoublyRobustWithShrinkage"),
}
"""Estimator -> ours, and the name of theirs."""


def main() -> None:
    """Measure and print."""
    rng = np.random.default_rng(0)
    arrays: dict[str, Any] = {
        "rewards": rng.random(N),
        "actions": rng.integers(N_ACTIONS, size=N),
        "propensities": np.full(N, 1.0 / N_ACTIONS),
        "target": rng.dirichlet(np.ones(N_ACTIONS), size=N),
        "predicted": rng.random((N, N_ACTIONS)),
    }
    theirs = _their_estimators()
    shared = {
        "action": arrays["actions"],
        "action_dist": arrays["target"][:, :, None],
        "reward": arrays["rewards"],
        "pscore": arrays["propensities"],
        "position": np.zeros(N, dtype=int),
        "estimated_rewards_by_reg_model": arrays["predicted"][:, :, None],
    }
    student_t(dm(LoggedSample(**{name: array[:10] for name, array in arrays.items()})))  # imports
    rows = []
    for name, (estimator, _) in OURS.items():
        # Defaults bind what the loop has now; mypy infers no type for them.
        calls: list[Callable[[], object]] = [
            lambda e=estimator: student_t(e(LoggedSample(**arrays))).interval(),  # type: ignore[misc]
            lambda e=estimator: bootstrap(e(LoggedSample(**arrays)), draws=DRAWS),  # type: ignore[misc]
        ]
        if theirs:
            calls.append(lambda t=theirs[name]: _interval_of(t, shared))  # type: ignore[misc]
        times = _medians(calls)
        by_t, by_bootstrap, of_obp = (*times, float("nan"))[:3]
        ratios = [f"{of_obp / seconds:.1f}x" for seconds in (by_t, by_bootstrap)]
        seconds = [f"{taken:.2f}" for taken in (by_t, by_bootstrap, of_obp)]
        rows.append([name, *seconds, *ratios])
    print(f"{N:,} records, {N_ACTIONS} actions, seconds for a value with its interval")
    columns = ["estimator", "Student-t", f"{DRAWS} resamples", f"sb-obp, {DRAWS} resamples"]
    print_table([*columns, "obp / Student-t", "obp / resamples"], rows)
    states = rng.standard_normal((N, N_COLUMNS)).astype(np.float32)
    started = time.perf_counter()
    cross_fitted(states, arrays["actions"], arrays["rewards"], N_ACTIONS)
    print(f"cross-fitted reward model, {N_COLUMNS} columns: {time.perf_counter() - started:.1f} s")


def _their_estimators() -> dict[str, Any]:
    try:
        obp: Any = importlib.import_module("obp.ope")
    except ImportError:
        return {}
    settings = {"switch_dr": {"lambda_": THRESHOLD}, "dr_shrink": {"lambda_": THRESHOLD}}
    return {
        name: getattr(obp, theirs)(**settings.get(name, {})) for name, (_, theirs) in OURS.items()
    }


def _interval_of(estimator: Any, shared: dict[str, Any]) -> object:
    return estimator.estimate_interval(**shared, n_bootstrap_samples=DRAWS, random_state=0)


def _medians(calls: list[Callable[[], object]]) -> list[float]:
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(REPEATS):
        for call, taken in zip(calls, times, strict=True):
            started = time.perf_counter()
            call()
            taken.append(time.perf_counter() - started)
    return [statistics.median(taken) for taken in times]


if __name__ == "__main__":
    main()
