"""Does the record refuse worlds that would mislead?"""

from __future__ import annotations

import dataclasses

import pytest

from rl_rewriter.envs.environment import JudgedEnvironment
from rl_rewriter.envs.fixture import minimal_fixture
from rl_rewriter.errors import InputError


@pytest.fixture(scope="module")
def environment() -> JudgedEnvironment:
    return minimal_fixture()


def test_a_query_in_both_splits_is_refused(environment: JudgedEnvironment) -> None:
    leaked = (*environment.test_ids, environment.train_ids[0])
    with pytest.raises(InputError, match="exactly once"):
        dataclasses.replace(environment, test_ids=leaked)


def test_a_query_in_no_split_is_refused(environment: JudgedEnvironment) -> None:
    with pytest.raises(InputError, match="exactly once"):
        dataclasses.replace(environment, test_ids=environment.test_ids[1:])


def test_ids_that_stand_twice_are_refused(environment: JudgedEnvironment) -> None:
    with pytest.raises(InputError, match="query ids must differ"):
        dataclasses.replace(environment, queries=(*environment.queries, environment.queries[0]))


def test_the_optimum_is_asked_only_where_it_is_known(environment: JudgedEnvironment) -> None:
    with pytest.raises(InputError, match="not known"):
        environment.optimum(environment.test_ids)
