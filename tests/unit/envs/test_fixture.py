"""Is there really nothing to learn in the minimal environment?"""

from __future__ import annotations

import numpy as np
import pytest

from rl_rewriter.envs.environment import JudgedEnvironment
from rl_rewriter.envs.fixture import minimal_fixture
from rl_rewriter.envs.retrieval import gather_evidence
from rl_rewriter.features.feature_set import default_features
from tests.unit.envs.conftest import Tables, TablesOf


@pytest.fixture(scope="module")
def environment() -> JudgedEnvironment:
    return minimal_fixture()


@pytest.fixture(scope="module")
def tables(environment: JudgedEnvironment, tables_of: TablesOf) -> Tables:
    return tables_of(environment)


def test_it_is_as_small_as_it_says(environment: JudgedEnvironment) -> None:
    assert (len(environment.train), len(environment.test)) == (8, 4)
    assert len({query.text for query in environment.queries}) == 12
    assert len({id_ for grades in environment.qrels.values() for id_ in grades}) == 6
    assert all(len(grades) == 2 for grades in environment.qrels.values())


def test_no_action_gains_on_any_query(tables: Tables) -> None:
    for table in tables:
        assert np.array_equal(
            table.values, np.broadcast_to(table.values[:, :1], table.values.shape)
        )
        assert (table.rewards <= 0).all()
        assert set(np.unique(table.rewards[:, 1:])) <= {0.0, -0.05}


def test_what_keep_misses_is_out_of_reach(tables: Tables) -> None:
    train, test = tables
    assert train.values.mean() == 2.0
    assert test.values.mean() == 1.75


def test_the_actions_do_change_the_queries(environment: JudgedEnvironment) -> None:
    """Nothing to learn must not come from actions that do nothing."""
    retriever, actions = environment.retriever, environment.actions
    evidence = gather_evidence(
        environment.queries,
        retriever,
        retriever.statistics(),
        actions,
        default_features(retriever.offers),
    )
    for action in list(actions)[1:]:
        rewrites = [action.rewrite(item) for item in evidence]
        changed = [r for r, q in zip(rewrites, environment.queries, strict=True)
                   if r is not None and r.text != q.text]  # fmt: skip
        assert len(changed) >= 3, action.name
