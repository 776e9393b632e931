"""Learned blends on the queries that they haven't seen: one more column of outcomes a seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rl_rewriter.actions.blend import BLEND, LearnedBlend
from rl_rewriter.actions.keep import Keep
from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.benchmark.comparison.fits import Fit
from rl_rewriter.benchmark.comparison.searched import Searched
from rl_rewriter.envs.outcomes import Outcomes, joined, reward_table
from rl_rewriter.envs.retrieval import carry_out
from rl_rewriter.envs.table import RewardTable
from rl_rewriter.evaluation.folds import Rows
from rl_rewriter.evaluation.held_out import seed_name


@dataclass(frozen=True, eq=False)
class Served:
    """Outcomes with those of learned blends.

    Attributes:
        outcomes: On all queries; where a query was learned from, a blend's are keep's.
        names: Seed -> name of the column of its blends.
        blends: Fold and seed -> blend.
    """

    outcomes: Outcomes
    names: dict[int, str]
    blends: dict[tuple[int, int], LearnedBlend]

    def table(self, searched: Searched) -> RewardTable:
        """The outcomes judged, with raw states."""
        if not self.names:
            return searched.table
        bench = searched.bench
        return reward_table(self.outcomes, bench.qrels, searched.features, bench.reward)

    def named(self, fit: Fit) -> Fit:
        """A fit whose blend has the name of its seed's column."""
        if fit.blend is None:
            return fit
        return replace(fit, action_names=(*fit.action_names[:-1], self.names[fit.seed]))

    def actions_of(self, fold: int, single: ActionSpace) -> ActionSpace:
        """The single actions and then the blends of one fold, in the order of the outcomes.

        Where the fold of a seed learned no blend, another one's stands for it: it's never chosen.
        """
        spare = next(iter(self.blends.values()), None)
        own = [self.blends.get((fold, seed), spare) for seed in self.names]
        named = zip(own, self.names.values(), strict=True)
        return single.extended([replace(blend, name=name) for blend, name in named if blend])


def serve_blends(searched: Searched, fits: Sequence[Fit]) -> Served:
    """Search what every learned blend makes of the queries of its fold.

    Args:
        searched: Outcomes of single actions.
        fits: What was learned; fits without a blend add nothing.
    """
    blends = {(fit.fold, fit.seed): fit.blend for fit in fits if fit.blend is not None}
    seeds = sorted({seed for _, seed in blends})
    names = {seed: seed_name(BLEND, number) for number, seed in enumerate(seeds)}
    outcomes = searched.outcomes
    for seed in seeds:
        parts = [
            (rows, _carried_out(searched, blend, rows))
            for (fold, of), blend in blends.items()
            if of == seed and len(rows := searched.division.rows(fold)[1])
        ]
        outcomes = joined(outcomes, names[seed], parts)
    return Served(outcomes, names, blends)


def _carried_out(searched: Searched, blend: LearnedBlend, rows: Rows) -> Outcomes:
    queries = [searched.division.queries[row] for row in rows]
    return carry_out(
        queries,
        searched.bench.retriever,
        searched.statistics,
        ActionSpace((Keep(), blend)),
        searched.features,
        depth=searched.outcomes.depth,
    )
