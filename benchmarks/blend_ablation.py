"""What each part of a learned blend is worth, by cross-fitting on training queries alone.

Held-out queries are never looked at: every query is valued by a fit that hasn't seen its group.

Run it from the repository root: ``python -m benchmarks.blend_ablation [DATA ...]``; the bundled
corpus by default. ``RL_REWRITER_CACHE`` names the folder where embeddings are kept.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks._support import print_table
from rl_rewriter.benchmark.stores import StoreConfig
from rl_rewriter.benchmark.tables import plain_outcomes
from rl_rewriter.benchmark.workbench import open_workbench
from rl_rewriter.envs.outcomes import reward_table
from rl_rewriter.envs.retrieval import judged
from rl_rewriter.training.blend.config import BlendConfig, ByQueryConfig, FineTuneConfig
from rl_rewriter.training.blend.fit import fit_blend
from rl_rewriter.training.blend.pools import Pools
from rl_rewriter.training.blend_material import pools_of
from rl_rewriter.training.config import FitConfig
from rl_rewriter.training.ladder.singles import Singles

LIMIT = 1000
ALIKE = ("words_alike", "words_of_history_alike")
WITHOUT: Mapping[str, tuple[str, ...]] = {
    "no documents of both rankings": ("fused_3", "fused_5"),
    "no feedback at all": ("first_3", "fused_3", "fused_5", "bm25_3"),
    "no expanded words": ("words_expanded",),
    "no BM25": ("words", "words_expanded", "words_of_history", *ALIKE),
    "no words spelt alike": ALIKE,
    "no conversation": ("history_in_front", "last_answer", "words_of_history", ALIKE[1]),
}
SETTINGS: Mapping[str, BlendConfig] = {
    "no tuning by REINFORCE": BlendConfig(fine_tune=FineTuneConfig(steps=0)),
    "one network": BlendConfig(by_query=ByQueryConfig(members=1)),
}


def main() -> None:
    """Measure and print."""
    rows: list[tuple[object, ...]] = []
    with tempfile.TemporaryDirectory() as folder:
        for data in sys.argv[1:] or ["demo"]:
            rows += ablated(data, Path(folder))
    print(f"cross-fitted means over at most {LIMIT} training queries; rung: what would be served")
    print_table(
        ("collection", "variant", "keep", "single", "same for all", "by query", "rung"), rows
    )


def ablated(data: str, folder: Path) -> list[tuple[object, ...]]:
    """One row a variant."""
    bench = open_workbench(data, StoreConfig(folder=folder / "chroma"), limit_queries=LIMIT)
    queries = judged(bench.train, bench.qrels)
    outcomes, features = plain_outcomes(bench, queries)
    table = reward_table(outcomes, bench.qrels, features, bench.reward)
    statistics = bench.retriever.statistics()
    pools = pools_of(queries, bench.retriever, statistics, bench.qrels, FitConfig())
    if pools is None:
        raise SystemExit(f"{bench.name} has no views to blend")
    groups = bench.groups_of(queries)
    variants: dict[str, tuple[Pools, BlendConfig]] = {"everything": (pools, BlendConfig())}
    for name, views in WITHOUT.items():
        if set(views) & set(pools.views):
            variants[name] = (without(pools, views), BlendConfig())
    variants |= {name: (pools, config) for name, config in SETTINGS.items()}
    rows: list[tuple[object, ...]] = []
    for name, (kept, config) in variants.items():
        found = fit_blend(kept, table.states, groups, Singles.of(table), config).stands.report
        means: Mapping[str, float] = dict(found.values)
        values = [means.get(rung, np.nan) for rung in RUNGS]
        rows.append((bench.name, name, *(f"{value:.4f}" for value in values), found.rung))
    return rows


RUNGS = ("keep", "single", "same_for_all", "by_query")


def without(pools: Pools, views: tuple[str, ...]) -> Pools:
    """Pools without some views; the candidates stay."""
    kept = [number for number, view in enumerate(pools.views) if view not in views]
    return replace(
        pools,
        views=tuple(pools.views[number] for number in kept),
        is_lexical=pools.is_lexical[kept],
        scores=pools.scores[:, :, kept],
        present=pools.present[:, kept],
        floors=pools.floors[:, kept],
    )


if __name__ == "__main__":
    main()
