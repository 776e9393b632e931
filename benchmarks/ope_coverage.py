"""How often off-policy intervals cover the true value, and how far estimates are from it.

Logs of generated bandits whose true values are known (``benchmarks/_bandit_worlds.py``): 0/1 and
graded rewards; a policy that takes the most probable action and one that draws; logged uniformly,
by keep with one action in ten drawn evenly, and by a policy that likes the wrong things. Every line
is 1,000 logs, of which the bootstrap is shown the first 200. Run it from the repository root:
``python -m benchmarks.ope_coverage``, with ``--logs 200`` for a quick look.
"""

from __future__ import annotations

import argparse
import itertools
import os
from collections import defaultdict
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import get_args

import numpy as np

from benchmarks._bandit_worlds import Kind, Logging, World, logging_policy, trained_policy
from benchmarks._support import print_table
from rl_rewriter.evaluation.off_policy.bootstrap import bootstrap
from rl_rewriter.evaluation.off_policy.contributions import Contributions
from rl_rewriter.evaluation.off_policy.diagnostics import effective_size
from rl_rewriter.evaluation.off_policy.estimators import ESTIMATORS
from rl_rewriter.evaluation.off_policy.intervals import student_t
from rl_rewriter.evaluation.off_policy.sample import LoggedSample
from rl_rewriter.evaluation.off_policy.tuning import tuned_dr_shrink, tuned_switch_dr

SIZES = (1000, 5000)
BOOTSTRAPPED = 200
DRAWS = 500
INTERVALS = ("snips", "dr")
"""Estimators whose intervals are to cover in 93 to 97 of 100 logs."""
_POLICIES = ("greedy", "drawn")


@dataclass(frozen=True)
class Setting:
    """One line of the table."""

    kind: Kind
    logging: Logging
    n: int


@dataclass
class Tally:
    """What became of the logs of one line and policy."""

    squared_errors: Mapping[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    covered: Mapping[str, list[bool]] = field(default_factory=lambda: defaultdict(list))
    sizes: list[float] = field(default_factory=list)

    def add(self, sample: LoggedSample, truth: float, *, with_bootstrap: bool) -> None:
        """Estimate from one log."""
        self.sizes.append(effective_size(sample.weights))
        estimates: dict[str, Contributions] = {
            name: estimator(sample) for name, estimator in ESTIMATORS.items()
        }
        estimates["switch_dr"] = tuned_switch_dr(sample).contributions
        estimates["dr_shrink"] = tuned_dr_shrink(sample).contributions
        for name, estimate in estimates.items():
            self.squared_errors[name].append((estimate.value - truth) ** 2)
            low, high = student_t(estimate).interval()
            self.covered[name].append(low <= truth <= high)
        if with_bootstrap:
            for name in INTERVALS:
                low, high = bootstrap(estimates[name], draws=DRAWS)
                self.covered[f"{name} bootstrap"].append(low <= truth <= high)

    def coverage(self, name: str, first: int | None = None) -> str:
        """Share of the logs, or of the first ones, whose interval holds the truth."""
        return f"{100 * np.mean(self.covered[name][:first]):.1f}"

    def rmse(self, name: str) -> float:
        """Root of the mean squared error."""
        return float(np.sqrt(np.mean(self.squared_errors[name])))


def measure(setting: Setting, n_logs: int) -> list[Tally]:
    """Tallies of all policies on the logs of one line."""
    world = World.generated(setting.kind)
    logging = logging_policy(setting.logging, world)
    policies = [trained_policy(world, greedy=name == "greedy") for name in _POLICIES]
    truths = [world.value(policy) for policy in policies]
    tallies = [Tally() for _ in policies]
    kind, logged = (get_args(Kind).index(setting.kind), get_args(Logging).index(setting.logging))
    for number in range(n_logs):
        samples = world.log(logging, policies, setting.n, (setting.n, kind, logged, number))
        for tally, sample, truth in zip(tallies, samples, truths, strict=True):
            tally.add(sample, truth, with_bootstrap=number < BOOTSTRAPPED)
    # Default factories of other processes can't come back.
    return [Tally(dict(t.squared_errors), dict(t.covered), t.sizes) for t in tallies]


def main() -> None:
    """Measure on all cores and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--logs", type=int, default=1000, help="logs a line")
    n_logs = parser.parse_args().logs
    settings = [
        Setting(kind, logging, n)
        for kind, logging, n in itertools.product(get_args(Kind), get_args(Logging), SIZES)
    ]
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = "1"  # of the processes to come, which are new ones: one core each
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        results = list(pool.map(measure, settings, itertools.repeat(n_logs)))
    lines = [
        (setting, policy, tally)
        for setting, tallies in zip(settings, results, strict=True)
        for policy, tally in zip(_POLICIES, tallies, strict=True)
    ]
    _print_coverage(lines, n_logs)
    _print_errors(lines)


def _print_coverage(lines: list[tuple[Setting, str, Tally]], n_logs: int) -> None:
    print(f"coverage of 95% intervals in percent, {n_logs} logs a line")
    columns = ["rewards", "logging", "n", "policy", "ess", "SNIPS", "DR", "SNDR"]
    columns += [f"{name}, first {BOOTSTRAPPED}" for name in ("SNIPS", "DR")]
    columns += ["SNIPS bootstrap", "DR bootstrap"]
    rows: list[list[object]] = []
    for setting, policy, tally in lines:
        row: list[object] = [setting.kind, setting.logging, setting.n, policy]
        row.append(f"{np.median(tally.sizes):.0f}")
        row += [tally.coverage(name) for name in ("snips", "dr", "sndr")]
        row += [tally.coverage(name, BOOTSTRAPPED) for name in INTERVALS]
        row += [tally.coverage(f"{name} bootstrap") for name in INTERVALS]
        rows.append(row)
    print_table(columns, rows)
    for name in INTERVALS:
        shares = [np.mean(tally.covered[name]) for _, _, tally in lines]
        within = sum(0.93 <= share <= 0.97 for share in shares)
        print(
            f"{name}: {100 * np.mean(shares):.1f}% over all lines, {100 * min(shares):.1f}% to "
            f"{100 * max(shares):.1f}%, {within} of {len(shares)} lines within 93% to 97%"
        )


def _print_errors(lines: list[tuple[Setting, str, Tally]]) -> None:
    names = ("ips", "snips", "dm", "dr", "sndr", "switch_dr", "dr_shrink")
    print("\nroot mean squared error")
    print_table(
        ("rewards", "logging", "n", "policy", *names),
        [
            (s.kind, s.logging, s.n, policy, *(f"{tally.rmse(name):.4f}" for name in names))
            for s, policy, tally in lines
        ],
    )
    better = sum(tally.rmse("dr") <= tally.rmse("ips") for _, _, tally in lines)
    print(f"DR's mean squared error is at most that of IPS on {better} of {len(lines)} lines")


if __name__ == "__main__":
    main()
