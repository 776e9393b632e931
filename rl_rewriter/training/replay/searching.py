"""Searches a log's queries again, and grades what they find by the credit of documents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.envs.outcomes import Outcomes
from rl_rewriter.envs.retrieval import carry_out
from rl_rewriter.errors import InputError
from rl_rewriter.features.feature_set import FeatureSet
from rl_rewriter.logs.bandit import LoggedBandit
from rl_rewriter.logs.shown import ShownLists
from rl_rewriter.retrieval.protocols import Retriever
from rl_rewriter.rewards.metrics import Metric
from rl_rewriter.rewards.reward import Table
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.training.blend.pools import Pools, Rows
from rl_rewriter.training.blend_material import pools_of
from rl_rewriter.training.config import FitConfig
from rl_rewriter.training.credit.assign import Credit, assign_credit, grades_of, judged_by
from rl_rewriter.training.credit.slates_of import slates_of
from rl_rewriter.types import OnProgress, Qrels, Query

MOST_QUERIES = 4000
"""Distinct queries that are searched again: those asked last."""


@dataclass(frozen=True, eq=False)
class Again:
    """Queries of a log as they are searched now.

    Attributes:
        decisions: Rows of the log that asked them, ``(d,)``.
        asked: Which of the queries each of those asked, ``(d,)``.
        queries: The distinct queries.
        outcomes: What every action retrieves for them.
        pools: Their candidates, graded by credit.
        grades: The same by ids.
        values: What every action is worth on every query by credit, less its price, ``(q, m)``.
        credit: How well rewards are explained.
    """

    decisions: Rows
    asked: Rows
    queries: list[Query]
    outcomes: Outcomes
    pools: Pools
    grades: Qrels
    values: Table
    credit: Credit


@dataclass(frozen=True, eq=False)
class Searcher:
    """What is needed to search a log's queries again.

    Attributes:
        log: The decisions, ``n`` of them.
        shown: What they asked and showed.
        retriever: Where to search.
        statistics: Term weights of the collection.
        features: What states are made of.
        config: Settings of the fit.
        tell: Told how far it is.
    """

    log: LoggedBandit
    shown: ShownLists
    retriever: Retriever
    statistics: CollectionStatistics
    features: FeatureSet
    config: FitConfig
    tell: OnProgress

    @property
    def metric(self) -> Metric:
        """What a ranking is worth by the credit of the documents that users see of it.

        In units of the reward.
        """
        return Metric("dcg", self.shown.depth)

    def search(
        self, decisions: Rows, actions: ActionSpace, known: Credit | None = None
    ) -> Again | str:
        """Search the queries of some decisions, each once.

        Args:
            decisions: Rows of the log whose words are known.
            actions: What is carried out on every query.
            known: Credit of other queries, which tells what to expect of documents.

        Returns:
            What was found, or why nothing can be learned from it, as the end of a sentence.

        Raises:
            CollectionError: The collection cannot be searched.
        """
        decisions = self._newest(decisions)
        numbers, asked = np.unique(self.shown.rows[decisions], return_inverse=True)
        queries = [self.shown.queries[number] for number in numbers]
        pools = pools_of(queries, self.retriever, self.statistics, {}, self.config)
        if pools is None:
            return "this retriever can't search any"
        log = self.log
        slates = slates_of(self.shown, decisions, numbers.tolist(), pools, log.rewards, log.weights)
        if not (slates.places >= 0).any():
            return (
                "no document that the log shows is found in this collection again; name the one "
                "that was searched"
            )
        try:
            credit = assign_credit(pools, slates, known)
        except InputError:
            return "all rewards are the same"
        outcomes = self.carry_out(queries, actions)
        grades = grades_of(pools, credit, [query.id for query in queries])
        return Again(
            decisions=decisions,
            asked=asked.reshape(-1),
            queries=queries,
            outcomes=outcomes,
            pools=judged_by(pools, credit),
            grades=grades,
            values=self.worth(outcomes, grades, credit),
            credit=credit,
        )

    def carry_out(self, queries: list[Query], actions: ActionSpace) -> Outcomes:
        """What actions retrieve for queries, as deep as users look.

        Raises:
            CollectionError: The collection cannot be searched.
        """
        return carry_out(
            queries,
            self.retriever,
            self.statistics,
            actions,
            self.features,
            depth=self.metric.depth,
            on_progress=lambda done: self.tell("searching again", done, len(queries)),
        )

    def worth(self, outcomes: Outcomes, grades: Qrels, credit: Credit) -> Table:
        """What rankings are worth by credit, less what they cost, ``(q, m)``."""
        prices = self.config.reward.prices(outcomes.effort)
        return np.asarray(credit.base + self.metric.values(outcomes.judged(grades)) - prices)

    def _newest(self, decisions: Rows) -> Rows:
        """Those decisions about the ``MOST_QUERIES`` queries that were asked last."""
        numbers = self.shown.rows[decisions]
        last = np.full(len(self.shown.queries), -np.inf)
        np.maximum.at(last, numbers, self.log.times[decisions])
        kept = np.argsort(-last, kind="stable")[:MOST_QUERIES]
        return np.asarray(decisions[np.isin(numbers, kept)])
