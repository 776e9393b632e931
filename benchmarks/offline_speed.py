"""How long learning from a million logged decisions takes, and how much memory.

Simulated arrays: 12 actions, 40 raw features, uniform logging, five decisions a conversation. The
arrays are made before the clock starts; ``log_speed`` times reading them from a file.

Run it from the repository root: ``python -m benchmarks.offline_speed [DECISIONS]``.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

from benchmarks._support import print_table
from rl_rewriter.actions.space import default_actions
from rl_rewriter.features.feature_set import FeatureSet, default_features
from rl_rewriter.logs.bandit import LoggedBandit
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.training.offline import fit_policy_to_logs
from rl_rewriter.types import Needs

DECISIONS = 1_000_000
ACTIONS = 12
_MIB = 1024.0


def main() -> None:
    """Measure and print."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else DECISIONS
    known = default_actions(~Needs.NOTHING)
    features = default_features(~Needs.NOTHING)
    log = simulated(n, features, known.names[:ACTIONS])
    before = peak_mib()
    started = time.perf_counter()
    _, report = fit_policy_to_logs(
        log, known=known, statistics=CollectionStatistics(), on_progress=None
    )
    total = time.perf_counter() - started
    print_table(
        ("stage", "seconds"),
        [
            *((stage, f"{took:.1f}") for stage, took in report.seconds.items()),
            ("all", f"{total:.1f}"),
        ],
    )
    print(
        f"{n} decisions, {len(features.columns)} features, {ACTIONS} actions; peak memory "
        f"{peak_mib():.0f} MiB, {before:.0f} MiB of them before training"
    )


def simulated(n: int, features: FeatureSet, names: tuple[str, ...]) -> LoggedBandit:
    """Rewards that depend on state and action, with noise."""
    rng = np.random.default_rng(0)
    states = rng.standard_normal((n, len(features.columns)), dtype=np.float32)
    actions = rng.integers(0, len(names), n)
    slopes = rng.normal(0.0, 0.05, (len(names), 3))
    rewards = 0.5 + (states[:, :3] * slopes[actions]).sum(axis=1) + rng.normal(0.0, 0.2, n)
    return LoggedBandit(
        decision_ids=tuple(map(str, range(n))),
        action_names=names,
        columns_fingerprint=features.fingerprint,
        states=states,
        actions=actions,
        propensities=np.full(n, 1.0 / len(names)),
        probabilities=np.full((n, len(names)), 1.0 / len(names)),
        mask=np.ones((n, len(names)), dtype=np.bool_),
        rewards=rewards,
        groups=tuple(str(row // 5) for row in range(n)),
        times=np.arange(n, dtype=np.float64),
    )


def peak_mib() -> float:
    """Largest resident memory of this process so far, in MiB (Linux counts in KiB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MIB


if __name__ == "__main__":
    main()
