"""How often the gate promotes policies that are equal to the baseline, worse, or better.

Logs of generated bandits (``benchmarks/_bandit_worlds.py``) with eight actions, and candidates
whose values are known exactly: the baseline's, 5% below it, and 10% above it; 200 logs a line.
"At .975" is what a one-sided level of .975 would have promoted, which is to say that the 95%
interval lies above 0. The last column is five equal candidates judged together. Run it from the
repository root: ``python -m benchmarks.gate_rates``.
"""

from __future__ import annotations

import argparse
import itertools
import os
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Literal, get_args

import numpy as np

from benchmarks._bandit_worlds import (
    N_ACTIONS,
    N_CONTEXTS,
    Kind,
    Logging,
    World,
    logging_policy,
    policy_of_value,
)
from benchmarks._support import print_table
from rl_rewriter.evaluation.off_policy.gate import Baseline, gate
from rl_rewriter.evaluation.off_policy.gate_config import GateConfig
from rl_rewriter.evaluation.off_policy.sample import LoggedSample

Opponent = Literal["logged", "keep"]
SIZES = (1000, 5000)
EFFECTS: Mapping[str, float] = {"equal": 1.0, "worse": 0.95, "better": 1.1}
_STRICT = 0.025


@dataclass(frozen=True)
class Setting:
    """One line of the table."""

    kind: Kind
    logging: Logging
    opponent: Opponent
    n: int


@dataclass(frozen=True)
class Rates:
    """Shares of the logs on which a candidate was promoted.

    Attributes:
        promoted: By effect, at a one-sided level of .95.
        strict: By effect, at a one-sided level of .975, the default.
        any_of_five: Share on which any of five equal candidates was.
    """

    promoted: Mapping[str, float]
    strict: Mapping[str, float]
    any_of_five: float


def measure(setting: Setting, n_logs: int) -> Rates:
    """Judge all candidates by each log."""
    world = World.generated(setting.kind)
    logging = logging_policy(setting.logging, world)
    keep = np.eye(N_ACTIONS)[np.zeros(N_CONTEXTS, dtype=np.intp)]
    value = world.value(keep if setting.opponent == "keep" else logging)
    policies = [policy_of_value(world, effect * value) for effect in EFFECTS.values()]
    policies += [policy_of_value(world, value, seed=seed) for seed in range(10, 14)]
    kind, logged = get_args(Kind).index(setting.kind), get_args(Logging).index(setting.logging)
    found = np.zeros((n_logs, 2, len(EFFECTS)), dtype=np.bool_)
    together = np.zeros(n_logs, dtype=np.bool_)
    for number in range(n_logs):
        seed = (setting.n, kind, logged, len(setting.opponent), number)
        samples = world.log(logging, policies, setting.n, seed)
        baseline = _baseline(setting.opponent, samples[0])
        for column, sample in enumerate(samples[: len(EFFECTS)]):
            verdict = gate({"it": sample}, baseline, GateConfig(level=0.95))["it"]
            found[number, 0, column] = verdict.promote
            found[number, 1, column] = verdict.promote and verdict.p_value < _STRICT
        five = [samples[0], *samples[len(EFFECTS) :]]
        verdicts = gate({str(name): sample for name, sample in enumerate(five)}, baseline)
        together[number] = any(verdict.promote for verdict in verdicts.values())
    promoted, strict = found.mean(axis=0)
    return Rates(
        dict(zip(EFFECTS, promoted.tolist(), strict=True)),
        dict(zip(EFFECTS, strict.tolist(), strict=True)),
        float(together.mean()),
    )


def _baseline(opponent: Opponent, sample: LoggedSample) -> Baseline:
    if opponent == "logged":
        return Baseline("logged")
    return Baseline("keep", np.eye(N_ACTIONS)[np.zeros(len(sample), dtype=np.intp)])


def main() -> None:
    """Measure on all cores and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--logs", type=int, default=200, help="logs a line")
    n_logs = parser.parse_args().logs
    settings = [
        Setting(*chosen)
        for chosen in itertools.product(
            get_args(Kind), get_args(Logging), get_args(Opponent), SIZES
        )
    ]
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = "1"  # of the processes to come, which are new ones: one core each
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        rates = list(pool.map(measure, settings, itertools.repeat(n_logs)))
    print(f"percent of {n_logs} logs on which the candidate was promoted")
    columns = ["rewards", "logging", "baseline", "n"]
    columns += [
        *(f"{name} at .95" for name in EFFECTS),
        *(f"{name} at .975" for name in EFFECTS),
        "any of five equal",
    ]
    rows: list[list[object]] = []
    for setting, found in zip(settings, rates, strict=True):
        shares = [*found.promoted.values(), *found.strict.values(), found.any_of_five]
        row: list[object] = [setting.kind, setting.logging, setting.opponent, setting.n]
        rows.append([*row, *(f"{100 * share:.1f}" for share in shares)])
    print_table(columns, rows)
    _print_summary(settings, rates)


def _print_summary(settings: list[Setting], rates: list[Rates]) -> None:
    for level, chosen in (
        (".95", [found.promoted for found in rates]),
        (".975", [found.strict for found in rates]),
    ):
        equal = [found["equal"] for found in chosen]
        either = [(found["equal"] + found["worse"]) / 2 for found in chosen]
        power = [
            found["better"]
            for setting, found in zip(settings, chosen, strict=True)
            if setting.logging == "uniform" and setting.n == max(SIZES)
        ]
        print(
            f"at {level}: equal {100 * np.mean(equal):.1f}% over all lines (up to "
            f"{100 * max(equal):.1f}%), equal or worse {100 * np.mean(either):.1f}% (up to "
            f"{100 * max(either):.1f}%), better by 10% from {max(SIZES)} uniform records "
            f"{100 * min(power):.1f}% to {100 * max(power):.1f}%"
        )


if __name__ == "__main__":
    main()
