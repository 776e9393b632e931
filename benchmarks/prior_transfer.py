"""What a prior from other collections is worth: served as it is, and as a start for few queries.

For each collection a prior is made from the others that are named with a licence, as
:mod:`benchmarks.train_prior` makes it, and valued on held-out queries, which are ranked by the
scores of their candidates (a search would rank all documents, which rarely differs):

- served as it is, alone and mixed with keep, with no query of the collection judged;
- where 30 and 100 training queries are drawn, by the ladder without weights by query, with the
  prior and without.

Run it from the repository root: ``python -m benchmarks.prior_transfer DATA=LICENCE DATA [...]``; a
collection without a licence is measured on and not learned from. ``RL_REWRITER_CACHE`` names the
folder where embeddings and outcomes are kept.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks._prior import Pooled, Searched, combined, named, searched
from benchmarks._support import print_table
from rl_rewriter.actions.blend_head import BlendHead
from rl_rewriter.actions.blend_prior import STARTING_STRENGTH, BlendPrior
from rl_rewriter.evaluation.comparison import compare
from rl_rewriter.policies.protocols import Values
from rl_rewriter.training.blend.config import BlendConfig, ByQueryConfig
from rl_rewriter.training.blend.fit import BlendFit, fit_blend
from rl_rewriter.training.blend.objective import Batch, Judge
from rl_rewriter.training.blend.pools import Pools, Rows
from rl_rewriter.training.ladder.singles import Singles

SIZES = (30, 100)
DRAWS = (0, 1, 2)
SAME_FOR_ALL = BlendConfig(by_query=ByQueryConfig(pulls=()))


def main() -> None:
    """Measure and print."""
    collections = named(sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        found = [searched(each.data, Path(folder)) for each in collections]
    rows: list[tuple[object, ...]] = []
    for target in found:
        others = [
            source
            for source, of in zip(found, collections, strict=True)
            if of.licence is not None and source is not target
        ]
        if others:
            rows += transferred(target, combined(others))
    print("held-out queries; differences with their 95% intervals; means over draws where several")
    print_table(("collection", "served", "metric", "to keep", "to single", "rungs"), rows)


def transferred(target: Searched, prior: BlendPrior) -> list[tuple[object, ...]]:
    """One row a way to serve."""
    test, everything = target.test, np.arange(len(target.train.pools))
    keep = test.table.values[:, 0]
    single = _single(target, everything)
    rows: list[tuple[object, ...]] = [
        _row(target, "keep", [keep], [single]),
        _row(target, "best single action, all queries", [single], [single]),
    ]
    for strength in (1.0, STARTING_STRENGTH):
        head = prior.head(test.pools.views, test.table.states.shape[1], strength)
        name = f"prior at {strength:g}"
        rows.append(_row(target, name, [value(head, test)], [single]))
    for size in SIZES:
        drawn = [np.random.default_rng(seed).permutation(everything)[:size] for seed in DRAWS]
        singles = [_single(target, of) for of in drawn]
        for name, used in (("no prior", None), ("prior", prior)):
            fits = [_fit(target.train, of, used) for of in drawn]
            values = [_served(fit, test) for fit in fits]
            rungs = " ".join(fit.stands.rung for fit in fits)
            rows.append(_row(target, f"{size} queries, {name}", values, singles, rungs))
    return rows


def value(head: BlendHead, test: Pooled) -> Values:
    """Metric of a head's weights on each query, ``(n,)``."""
    pools = _with_views(test.pools, head.views)
    states = np.zeros((len(pools), 1), dtype=np.float32)
    judge = Judge(pools, Batch.of(pools, head.scale, states), SAME_FOR_ALL.metric)
    weights = head.weights(test.table.states, pools.present)
    return judge.values(np.arange(len(pools)), weights)


def _with_views(pools: Pools, names: tuple[str, ...]) -> Pools:
    kept = [pools.views.index(name) for name in names]
    return replace(
        pools,
        views=names,
        is_lexical=pools.is_lexical[kept],
        scores=pools.scores[:, :, kept],
        present=pools.present[:, kept],
        floors=pools.floors[:, kept],
    )


def _fit(train: Pooled, rows: Rows, prior: BlendPrior | None) -> BlendFit:
    pools = train.pools.subset(rows).of_present_views()
    groups = [train.groups[row] for row in rows]
    table = train.table.subset(rows)
    return fit_blend(pools, table.states, groups, Singles.of(table), SAME_FOR_ALL, prior=prior)


def _served(fit: BlendFit, test: Pooled) -> Values:
    if fit.head is not None:
        return value(fit.head, test)
    stands = fit.stands
    return test.table.values[:, (stands.single or 0) if stands.rung == "single" else 0]


def _single(target: Searched, rows: Rows) -> Values:
    """The action that is best on some training queries, on held-out ones."""
    best = int(target.train.table.values[rows].mean(axis=0).argmax())
    return target.test.table.values[:, best]


def _row(
    target: Searched, name: str, values: list[Values], singles: list[Values], rungs: str = ""
) -> tuple[object, ...]:
    keep, groups = target.test.table.values[:, 0], target.test.groups
    served, single = np.mean(values, axis=0), np.mean(singles, axis=0)
    found = [compare(served, other, groups=groups) for other in (keep, single)]
    told = [f"{c.delta:+.4f} [{c.ci95[0]:+.3f}, {c.ci95[1]:+.3f}]" for c in found]
    return (target.name, name, f"{served.mean():.4f}", *told, rungs)


if __name__ == "__main__":
    main()
