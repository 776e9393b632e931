"""How often something is called better where nothing is: 200 runs of each check, 5% are allowed.

The bundled help centre is searched by TF-IDF once. Judgements are then dealt out to other queries,
or the outcomes of each query to other actions, anew in each run, and the usual machinery says what
it finds: a policy of random actions against keep, the verdict of headroom, and a policy that was
trained and chosen on such judgements, on held-out queries. For each check the share of runs that
find something significantly better than keep is printed with its exact binomial interval. Exit
code 1 where a share is significantly above 5%. Run it from the repository root:
``python -m benchmarks.null_runs``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import binomtest

from benchmarks._support import print_table
from rl_rewriter.benchmark.stores import StoreConfig
from rl_rewriter.benchmark.tables import plain_outcomes
from rl_rewriter.benchmark.workbench import Workbench, open_workbench
from rl_rewriter.envs.outcomes import Outcomes, reward_table
from rl_rewriter.envs.table import RewardTable
from rl_rewriter.evaluation.comparison import compare
from rl_rewriter.evaluation.headroom import headroom
from rl_rewriter.evaluation.significance import Values
from rl_rewriter.features.feature_set import FeatureSet
from rl_rewriter.training.config import FitConfig, ReinforceConfig
from rl_rewriter.training.loop import train_on_tables
from rl_rewriter.training.splits import split_rows

N_RUNS = 200
ALLOWED = 0.05
QUICK = ReinforceConfig(
    updates=100, batch_size=64, evaluate_every=20, warm_up=20, learning_rate=0.01
)


@dataclass(frozen=True, eq=False)
class World:
    """A searched collection, to be judged anew in each run.

    Attributes:
        bench: The collection.
        outcomes: What every action retrieved for all queries, training queries first.
        features: Fitted on the training queries.
        groups: The need of each query.
    """

    bench: Workbench
    outcomes: Outcomes
    features: FeatureSet
    groups: list[str]

    @classmethod
    def searched(cls) -> World:
        """The bundled corpus under TF-IDF."""
        bench = open_workbench("demo", StoreConfig(embedder="tfidf"))
        queries = [*bench.train, *bench.test]
        outcomes, features = plain_outcomes(bench, queries)
        fitted = features.fitted_on(outcomes.features[: len(bench.train)])
        return cls(bench, outcomes, fitted, bench.groups_of(queries))

    def with_others_judgements(self, rng: np.random.Generator) -> RewardTable:
        """Every query gets the judgements of a query drawn without replacement."""
        ids = self.outcomes.query_ids
        qrels = {
            id_: self.bench.qrels[ids[row]]
            for id_, row in zip(ids, rng.permutation(len(ids)), strict=True)
        }
        return reward_table(self.outcomes, qrels, self.features, self.bench.reward)

    def with_others_actions(self, rng: np.random.Generator) -> RewardTable:
        """The outcomes of each query, dealt out to its actions, keep among them."""
        table = reward_table(self.outcomes, self.bench.qrels, self.features, self.bench.reward)
        values = rng.permuted(table.values, axis=1)
        everything = np.ones_like(table.mask)
        return replace(table, values=values, rewards=values - values[:, :1], mask=everything)

    @property
    def n_train(self) -> int:
        """Number of training queries."""
        return len(self.bench.train)


Check = Callable[[World, np.random.Generator, int], bool]


def random_actions(world: World, rng: np.random.Generator, run: int) -> bool:
    """Whether random actions beat keep under other queries' judgements."""
    table = world.with_others_judgements(rng)
    actions = np.where(table.mask, rng.random(table.mask.shape), -1.0).argmax(axis=1)
    reached = table.values[np.arange(len(table)), actions]
    return is_better(reached, table.values[:, 0], world.groups, run)


def dealt_headroom(world: World, rng: np.random.Generator, run: int) -> bool:
    """Whether headroom finds an action or a choice better than keep where all are alike."""
    found = headroom(world.with_others_actions(rng), groups=world.groups, seed=run)
    return found.verdict in ("one_action_is_enough", "worth_learning")


def permuted_headroom(world: World, rng: np.random.Generator, run: int) -> bool:
    """Whether headroom finds choosing by query worth learning under other queries' judgements."""
    found = headroom(world.with_others_judgements(rng), groups=world.groups, seed=run)
    return found.verdict == "worth_learning"


def permuted_training(world: World, rng: np.random.Generator, run: int) -> bool:
    """Whether a policy trained and chosen on other queries' judgements beats keep held out."""
    return trained(world, world.with_others_judgements(rng), run)


def dealt_training(world: World, rng: np.random.Generator, run: int) -> bool:
    """Whether a policy trained and chosen where all actions are alike beats keep held out."""
    return trained(world, world.with_others_actions(rng), run)


def trained(world: World, table: RewardTable, run: int) -> bool:
    """Train on four fifths of the training needs, choose on the rest, compare on held-out ones."""
    groups, n_train = world.groups, world.n_train
    learned, validation = split_rows(groups[:n_train], 0.2, seed=run)
    outcome = train_on_tables(
        table.subset(learned),
        table.subset(validation),
        FitConfig(reinforce=replace(QUICK, seed=run), reward=world.bench.reward, ladder=None),
    )
    held_out = table.subset(range(n_train, len(table)))
    chosen = outcome.policy.distribution(held_out.states, held_out.mask).greedy()
    reached = held_out.values[np.arange(len(held_out)), chosen]
    return is_better(reached, held_out.values[:, 0], groups[n_train:], run)


def is_better(system: Values, keep: Values, groups: list[str], seed: int) -> bool:
    """Significantly so, by the test that results are reported with."""
    found = compare(system, keep, groups=groups, seed=seed)
    return found.delta > 0 and found.p_value < ALLOWED


CHECKS: dict[str, Check] = {
    "random actions, other queries' judgements": random_actions,
    "headroom, other actions' outcomes": dealt_headroom,
    "headroom (by query), other queries' judgements": permuted_headroom,
    "trained policy, other queries' judgements": permuted_training,
    "trained policy, other actions' outcomes": dealt_training,
}


def main() -> int:
    """Run all checks and print; the exit code."""
    world = World.searched()
    rows = []
    too_often = False
    for name, check in CHECKS.items():
        started = time.perf_counter()
        better = sum(check(world, np.random.default_rng(run), run) for run in range(N_RUNS))
        interval = binomtest(better, N_RUNS).proportion_ci(method="exact")
        too_often |= interval.low > ALLOWED
        seconds = time.perf_counter() - started
        rows.append(
            (
                name,
                N_RUNS,
                f"{better / N_RUNS:.1%}",
                f"{interval.low:.1%} to {interval.high:.1%}",
                f"{seconds:.0f}",
            )
        )
    print_table(("check", "runs", "better", "95% interval", "seconds"), rows)
    return int(too_often)


if __name__ == "__main__":
    sys.exit(main())
