"""How the queries of a workbench are divided for a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rl_rewriter.benchmark.comparison.config import FOLDS, BenchmarkConfig
from rl_rewriter.benchmark.workbench import Workbench
from rl_rewriter.envs.retrieval import judged
from rl_rewriter.errors import InputError
from rl_rewriter.evaluation.folds import Folds, Rows, cross_validation, given_split
from rl_rewriter.types import Query


@dataclass(frozen=True, eq=False)
class Division:
    """All queries, and who is held out when.

    Attributes:
        queries: The queries that are learned from or held out.
        groups: What each of them belongs to.
        folds: The folds.
        protocol: "split" where the data bring their own, else "cv5" and the like.
    """

    queries: tuple[Query, ...]
    groups: tuple[str, ...]
    folds: Folds
    protocol: str

    @property
    def held_out(self) -> Rows:
        """Rows of the queries that are held out in some fold, ascending."""
        return np.flatnonzero(np.isin(self.folds.number, self.folds.chosen_for))

    def rows(self, fold: int) -> tuple[Rows, Rows]:
        """Rows that are learned from, and rows that are held out, in one fold."""
        inside = self.folds.number == fold
        return np.flatnonzero(~inside), np.flatnonzero(inside)


def divide(
    bench: Workbench, config: BenchmarkConfig, order: Mapping[str, int] | None = None
) -> Division:
    """Keep to the data's own split, or cross-validate by group where there is none.

    Args:
        bench: Whose queries.
        config: A number of folds asks for cross-validation in any case.
        order: Query id -> place; cross-validated queries come in this order.

    Raises:
        InputError: No query is judged, or all of them belong together.
    """
    if bench.protocol == "split" and config.folds is None:
        train, test = judged(bench.train, bench.qrels), judged(bench.test, bench.qrels)
        groups = bench.groups_of(train)
        folds = given_split(groups, len(train), len(test), FOLDS, config.seed)
        return Division((*train, *test), (*groups, *bench.groups_of(test)), folds, "split")
    queries = judged([*bench.train, *bench.test], bench.qrels)
    if order is not None:
        queries.sort(key=lambda query: order.get(query.id, len(order)))
    groups = bench.groups_of(queries)
    folds = cross_validation(groups, len(queries), config.folds or FOLDS, config.seed)
    if folds.n_folds < 2:
        raise InputError(
            f"all {len(queries)} queries of {bench.name!r} belong together, so that none can be "
            "held out; give them needs or conversations of their own"
        )
    return Division(tuple(queries), tuple(groups), folds, f"cv{folds.n_folds}")
