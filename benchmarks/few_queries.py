"""What a policy gains where few queries are judged.

From the training queries of each collection some are drawn, a policy is trained on them, and it is
compared on all held-out queries with keep and with the single action that is best on the same
draw. Differences are paired by query and tested by group.

Run it from the repository root: ``python -m benchmarks.few_queries [DATA ...]``; the bundled corpus
by default. ``RL_REWRITER_CACHE`` names the folder where embeddings and outcomes are kept.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks._support import print_table
from rl_rewriter.benchmark.stores import StoreConfig
from rl_rewriter.benchmark.tables import checkpoint_outcomes, outcome_source
from rl_rewriter.benchmark.workbench import Workbench, open_workbench
from rl_rewriter.envs.outcomes import reward_table
from rl_rewriter.envs.retrieval import judged
from rl_rewriter.evaluation.comparison import Comparison, compare
from rl_rewriter.rewriter import RLQueryRewriter
from rl_rewriter.training.config import FitConfig, ReinforceConfig

SIZES = (30, 100)
DRAWS = (0, 1, 2)


def main() -> None:
    """Measure and print."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for data in sys.argv[1:] or ["demo"]:
            bench = open_workbench(data, StoreConfig(folder=Path(folder) / "chroma"))
            for size in SIZES:
                rows += [one_draw(bench, size, seed) for seed in DRAWS]
    print("held-out queries; differences with their 95% intervals and p-values")
    print_table(
        ("collection", "queries", "served", "keep", "single", "policy", "to keep", "to single"),
        rows,
    )


def one_draw(bench: Workbench, size: int, seed: int) -> tuple[object, ...]:
    """Train on a draw and compare."""
    train = judged(bench.train, bench.qrels)
    drawn = np.random.default_rng(seed).permutation(len(train))[:size]
    queries = [train[row] for row in drawn]
    rewriter = RLQueryRewriter(bench.retriever, actions=bench.actions)
    report = rewriter.fit(
        queries,
        bench.qrels,
        config=FitConfig(reward=bench.reward, reinforce=ReinforceConfig(seed=seed)),
        groups=bench.groups_of(queries),
        outcomes=outcome_source(bench, bench.retriever.statistics()),
    )
    checkpoint = rewriter.checkpoint
    assert checkpoint is not None
    test = judged(bench.test, bench.qrels)
    outcomes = checkpoint_outcomes(bench, test, checkpoint, bench.reward.metric.depth)
    table = reward_table(outcomes, bench.qrels, checkpoint.features, bench.reward)
    chosen = checkpoint.policy.distribution(table.states, table.mask).greedy()
    policy = table.values[np.arange(len(test)), chosen]
    keep = table.values[:, 0]
    single = table.values[:, table.action_names.index(report.best_fixed)]
    groups = bench.groups_of(test)
    return (
        bench.name,
        len(queries),
        report.ladder.rung if report.ladder is not None else "policy",
        f"{keep.mean():.3f}",
        f"{single.mean():.3f}",
        f"{policy.mean():.3f}",
        _told(compare(policy, keep, groups=groups)),
        _told(compare(policy, single, groups=groups)),
    )


def _told(found: Comparison) -> str:
    low, high = found.ci95
    return f"{found.delta:+.3f} [{low:+.3f}, {high:+.3f}] p={found.p_value:.4f}"


if __name__ == "__main__":
    main()
