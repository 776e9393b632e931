"""Tables of environments, made the way training makes them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from rl_rewriter.envs.environment import JudgedEnvironment
from rl_rewriter.envs.outcomes import reward_table
from rl_rewriter.envs.retrieval import carry_out
from rl_rewriter.envs.table import RewardTable
from rl_rewriter.features.feature_set import default_features

Tables = tuple[RewardTable, RewardTable]
TablesOf = Callable[[JudgedEnvironment], Tables]


def tables_of_environment(environment: JudgedEnvironment) -> Tables:
    """Train and test table, features scaled on the training queries."""
    retriever, actions = environment.retriever, environment.actions
    statistics = retriever.statistics()
    groups, depth = default_features(retriever.offers), environment.reward.metric.depth
    train, test = (
        carry_out(queries, retriever, statistics, actions, groups, depth=depth)
        for queries in (environment.train, environment.test)
    )
    features = groups.fitted_on(train.features)
    return (
        reward_table(train, environment.qrels, features, environment.reward),
        reward_table(test, environment.qrels, features, environment.reward),
    )


@pytest.fixture(scope="session")
def tables_of() -> TablesOf:
    """Makes both tables of an environment."""
    return tables_of_environment


@pytest.fixture
def table() -> RewardTable:
    """Four queries of two features each, three actions; the last can't be carried out for q1."""
    values = np.asarray([[1.0, 2.0, 0.0], [2.0, 0.0, 2.0], [0.0, 1.0, 3.0], [1.0, 1.0, 1.0]])
    mask = np.ones((4, 3), dtype=np.bool_)
    mask[1, 2] = False
    rewards = values - values[:, :1] - 0.05
    rewards[:, 0] = 0.0
    states = np.arange(8, dtype=np.float32).reshape(4, 2)
    names = ("keep", "keywords", "history")
    return RewardTable(("q0", "q1", "q2", "q3"), names, states, mask, values, rewards)
