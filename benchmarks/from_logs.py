"""How much of what judgements teach do logs teach, on held-out queries?

For each collection a policy is trained on the judged training queries (``fit``), and policies are
trained on simulated logs of the same queries, where each decision shows the list and the metric of
the single action that was drawn and nothing else (``fit_logs``). Gains over keep are measured on
held-out queries with their judgements. Means over seeds, which draw the logs and train both.

Run it from the repository root: ``python -m benchmarks.from_logs [DATA ...]``; the bundled corpus
by default. ``RL_REWRITER_CACHE`` names the folder where embeddings and outcomes are kept.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks._support import print_table
from rl_rewriter.benchmark.logging_policy import LoggingPolicy
from rl_rewriter.benchmark.simulated_logs import simulate_logs
from rl_rewriter.benchmark.stores import StoreConfig
from rl_rewriter.benchmark.tables import checkpoint_outcomes, outcome_source
from rl_rewriter.benchmark.workbench import Workbench, open_workbench
from rl_rewriter.envs.outcomes import reward_table
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.rewriter import RLQueryRewriter
from rl_rewriter.training.config import FitConfig, ReinforceConfig
from rl_rewriter.training.offline import OfflineConfig

DECISIONS = 5000
SEEDS = (0, 1, 2)
POLICIES = ("uniform", "epsilon:0.1")
TARGETS = {"uniform": 0.8, "epsilon:0.1": 0.5}


def main() -> None:
    """Measure and print."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for data in sys.argv[1:] or ["demo"]:
            bench = open_workbench(data, StoreConfig(folder=Path(folder) / "chroma"))
            full = [gain(bench, from_judgements(bench, seed)) for seed in SEEDS]
            for policy in POLICIES:
                logged = [
                    gain(bench, from_log(bench, policy, Path(folder), seed)) for seed in SEEDS
                ]
                rows.append(
                    (
                        bench.name,
                        policy,
                        f"{np.mean(full):+.4f}",
                        f"{np.mean(logged):+.4f}",
                        f"{np.mean(logged) / np.mean(full):.0%}",
                        ", ".join(f"{one / np.mean(full):.0%}" for one in logged),
                        f"{TARGETS[policy]:.0%}",
                    )
                )
    print(f"{DECISIONS} decisions a log, {len(SEEDS)} seeds, gain over keep on held-out queries")
    print_table(
        ("collection", "logged by", "judgements", "log", "share", "by seed", "target"), rows
    )


def from_judgements(bench: Workbench, seed: int) -> Checkpoint:
    """A policy that has seen the judgements of the training queries."""
    rewriter = RLQueryRewriter(bench.retriever, actions=bench.actions)
    rewriter.fit(
        bench.train,
        bench.qrels,
        config=FitConfig(reinforce=ReinforceConfig(seed=seed), reward=bench.reward),
        groups=bench.groups_of(bench.train),
        outcomes=outcome_source(bench, bench.retriever.statistics()),
    )
    return trained(rewriter)


def from_log(bench: Workbench, policy: str, folder: Path, seed: int) -> Checkpoint:
    """A policy that has seen a log of the training queries."""
    log = folder / f"{bench.name}-{policy.replace(':', '')}-{seed}.jsonl"
    simulate_logs(bench, LoggingPolicy.parse(policy, bench), log, n=DECISIONS, seed=seed)
    rewriter = RLQueryRewriter(bench.retriever, actions=bench.actions)
    config = OfflineConfig(fit=FitConfig(reinforce=ReinforceConfig(seed=seed)))
    rewriter.fit_logs(log, config=config)
    return trained(rewriter)


def trained(rewriter: RLQueryRewriter) -> Checkpoint:
    """The policy in use."""
    if rewriter.checkpoint is None:
        raise RuntimeError("training left no policy")
    return rewriter.checkpoint


def gain(bench: Workbench, checkpoint: Checkpoint) -> float:
    """Mean gain over keep on the held-out queries."""
    depth = bench.reward.metric.depth
    outcomes = checkpoint_outcomes(bench, bench.test, checkpoint, depth)
    table = reward_table(outcomes, bench.qrels, checkpoint.features, bench.reward)
    chosen = checkpoint.policy.distribution(table.states, table.mask).greedy()
    values = table.values[np.arange(len(table)), chosen]
    return float((values - table.values[:, 0]).mean())


if __name__ == "__main__":
    main()
