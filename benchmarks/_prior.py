"""A prior for blends from several collections: what they agree on of the weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rl_rewriter.actions.blend_prior import BlendPrior
from rl_rewriter.actions.views import VIEWS
from rl_rewriter.benchmark.stores import StoreConfig
from rl_rewriter.benchmark.tables import plain_outcomes
from rl_rewriter.benchmark.workbench import open_workbench
from rl_rewriter.envs.outcomes import reward_table
from rl_rewriter.envs.retrieval import judged
from rl_rewriter.envs.table import RewardTable
from rl_rewriter.training.blend.config import BlendConfig
from rl_rewriter.training.blend.learner import Learner
from rl_rewriter.training.blend.objective import Batch, Judge
from rl_rewriter.training.blend.pools import Pools
from rl_rewriter.training.blend_material import pools_of
from rl_rewriter.training.config import FitConfig
from rl_rewriter.types import Query

LIMIT = 600
"""Training queries of a collection that weights are learned on, at most."""


@dataclass(frozen=True)
class Named:
    """A collection of the command line.

    Attributes:
        data: Its folder, or a bundled one.
        licence: Under which its text may be learned from and the numbers given away; None for one
            that is only measured on.
    """

    data: str
    licence: str | None


def named(arguments: Sequence[str]) -> list[Named]:
    """``DATA=LICENCE`` or ``DATA``, each."""
    parts = [argument.partition("=") for argument in arguments]
    return [Named(data, licence or None) for data, _, licence in parts]


@dataclass(frozen=True, eq=False)
class Pooled:
    """Judged queries with their pools.

    Attributes:
        pools: Scored candidates.
        table: Outcomes of single actions.
        groups: One name a query.
    """

    pools: Pools
    table: RewardTable
    groups: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Searched:
    """A collection with all its views searched.

    Attributes:
        name: Of the collection.
        train: Training queries.
        test: Held-out ones.
        learned: Weights for all of the training queries, with their scales.
        presence: Share of the training queries that have each view.
    """

    name: str
    train: Pooled
    test: Pooled
    learned: BlendPrior
    presence: Mapping[str, float]


def searched(data: str, folder: Path) -> Searched:
    """Search a collection's views and learn weights on its training queries."""
    bench = open_workbench(data, StoreConfig(folder=folder / "chroma"))

    def pooled(queries: Sequence[Query]) -> Pooled:
        judged_ones = judged(queries, bench.qrels)
        outcomes, features = plain_outcomes(bench, judged_ones)
        table = reward_table(outcomes, bench.qrels, features, bench.reward)
        statistics = bench.retriever.statistics()
        found = pools_of(judged_ones, bench.retriever, statistics, bench.qrels, FitConfig())
        if found is None:
            raise SystemExit(f"{bench.name} has no views to blend")
        return Pooled(found, table, tuple(bench.groups_of(judged_ones)))

    train = pooled(bench.train)
    rows = np.random.default_rng(0).permutation(len(train.pools))[:LIMIT]
    pools = train.pools.subset(np.sort(rows)).of_present_views()
    presence = dict(zip(pools.views, pools.present.mean(axis=0).tolist(), strict=True))
    return Searched(bench.name, train, pooled(bench.test), weights_for_all(pools), presence)


def weights_for_all(pools: Pools) -> BlendPrior:
    """Weights fitted to whole rankings, without a prior."""
    scale = pools.scales()
    states = np.zeros((len(pools), 1), dtype=np.float32)
    config = BlendConfig()
    learner = Learner(Judge(pools, Batch.of(pools, scale, states), config.metric), config)
    return BlendPrior(pools.views, learner.same_for_all(np.arange(len(pools)), 0).bias, scale)


def combined(collections: Sequence[Searched]) -> BlendPrior:
    """The mean logit of each view over the collections that have it, and the typical scale.

    Softmax ignores a shift, so that logits are compared less their mean over the views that all
    collections have. A view counts for as many of a collection's queries as have it.
    """
    shared = set.intersection(*(set(each.learned.views) for each in collections))
    logits: dict[str, float] = {}
    scales: dict[str, float] = {}
    for view in (view.name for view in VIEWS):
        having = [each for each in collections if view in each.learned.views]
        if having:
            weights = [each.presence[view] for each in having]
            logits[view] = float(
                np.average([_centred(each, shared)[view] for each in having], weights=weights)
            )
            logs = [np.log(_by_view(each, each.learned.scale)[view]) for each in having]
            scales[view] = float(np.exp(np.mean(logs)))
    numbers = (np.asarray(list(of.values()), dtype=np.float32) for of in (logits, scales))
    return BlendPrior(tuple(logits), *numbers)


def _centred(each: Searched, shared: set[str]) -> dict[str, float]:
    logits = _by_view(each, each.learned.logits)
    mean = np.mean([logits[view] for view in shared])
    return {view: float(logit - mean) for view, logit in logits.items()}


def _by_view(each: Searched, numbers: np.ndarray | None) -> dict[str, float]:
    assert numbers is not None  # weights_for_all tells scales
    return dict(zip(each.learned.views, numbers.tolist(), strict=True))
