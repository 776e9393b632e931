"""Is the best action of every simulated query the one that is said, and by how much?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from rl_rewriter.envs.environment import JudgedEnvironment
from rl_rewriter.envs.simulator import simulate
from rl_rewriter.envs.simulator_config import SimulatorConfig
from rl_rewriter.envs.simulator_documents import FILLER, PLAN_NAMES
from rl_rewriter.envs.table import RewardTable
from rl_rewriter.errors import InputError
from rl_rewriter.text.stopwords import ENGLISH_STOP_WORDS
from rl_rewriter.text.tokens import keyword_form
from rl_rewriter.types import Rewrite
from tests.unit.envs.conftest import TablesOf

SMALL: dict[str, Any] = {"n_train": 300, "n_test": 100}


@dataclass(frozen=True)
class World:
    environment: JudgedEnvironment
    train: RewardTable
    test: RewardTable

    def margins(self, table: RewardTable) -> npt.NDArray[np.float64]:
        """Reward of each query's designated action minus the best of the others."""
        rows, best = np.arange(len(table)), self.environment.optimum(table.query_ids)
        others = table.rewards.copy()
        others[rows, best] = -np.inf
        gaps: npt.NDArray[np.float64] = table.rewards[rows, best] - others.max(axis=1)
        return gaps

    def optimum(self, table: RewardTable) -> float:
        """Mean reward of the designated actions."""
        best = self.environment.optimum(table.query_ids)
        return float(table.outcome(np.arange(len(table)), best).mean())


@pytest.fixture(scope="module", params=[0, 1, 2])
def world(request: pytest.FixtureRequest, tables_of: TablesOf) -> World:
    environment = simulate(SimulatorConfig(seed=request.param, **SMALL))
    return World(environment, *tables_of(environment))


def test_the_designated_action_is_the_best(world: World) -> None:
    kinds = world.environment.kinds
    for table in (world.train, world.test):
        margins = world.margins(table)
        assert (margins >= 0).mean() >= 0.99
        # For a formal query some actions come to nothing, which is as good as keep.
        changed = np.asarray([kinds[id_] != "formal" for id_ in table.query_ids])
        assert (margins[changed] > 0).mean() >= 0.98


@pytest.mark.parametrize(
    ("kind", "least"),
    [("formal", 0.0), ("wordy", 2.5), ("chatty", 2.5), ("vague", 2.5), ("follow_up", 2.5)],
)
def test_the_margin_is_clear_in_every_kind(world: World, kind: str, least: float) -> None:
    kinds = world.environment.kinds
    rows = [i for i, id_ in enumerate(world.train.query_ids) if kinds[id_] == kind]
    assert world.margins(world.train)[rows].mean() >= least


def test_a_formal_query_is_only_ever_hurt(world: World) -> None:
    kinds = world.environment.kinds
    rows = [i for i, id_ in enumerate(world.train.query_ids) if kinds[id_] == "formal"]
    losses = -world.train.rewards[rows]
    assert ((losses == 0) | (losses > 0.049)).all()
    assert losses[:, 1].mean() > 2.0  # the keyword form loses the plan


def test_keep_is_far_below_the_optimum_and_no_single_action_comes_near(world: World) -> None:
    for table in (world.train, world.test):
        gain = world.optimum(table)
        assert gain >= 1.5
        assert table.rewards.mean(axis=0).max() <= 0.35 * gain
        assert gain >= 0.98 * table.rewards.max(axis=1).mean()


def test_a_small_network_can_tell_the_kinds_apart(world: World) -> None:
    from sklearn.neural_network import MLPClassifier

    best = world.environment.optimum(world.train.query_ids)
    network = MLPClassifier((32,), solver="lbfgs", max_iter=100, random_state=0)
    chosen = network.fit(world.train.states, best).predict(world.test.states)
    gain = world.test.outcome(np.arange(len(world.test)), chosen).mean()
    assert gain >= 0.95 * world.optimum(world.test)


def test_follow_ups_have_a_history_and_others_may(world: World) -> None:
    kinds, histories = world.environment.kinds, world.train.mask[:, -1]
    follows = np.asarray([kinds[id_] == "follow_up" for id_ in world.train.query_ids])
    assert histories[follows].all()
    assert 0.15 < histories[~follows].mean() < 0.35
    keep = np.where(histories, np.nan, world.train.values[:, 0])
    assert ((world.train.values[:, -1] == keep) | histories).all()


def test_no_words_are_asked_twice(world: World) -> None:
    texts = [query.text for query in world.environment.queries]
    train = {frozenset(query.text.split()) for query in world.environment.train}
    test = {frozenset(query.text.split()) for query in world.environment.test}
    assert len(set(texts)) == len(texts) == 400
    assert not train & test


def test_each_split_has_the_configured_shares(world: World) -> None:
    for ids, size in ((world.environment.train_ids, 300), (world.environment.test_ids, 100)):
        kinds = [world.environment.kinds[id_] for id_ in ids]
        assert len(ids) == size
        assert kinds.count("formal") == 0.4 * size
        assert all(kinds.count(kind) == 0.15 * size for kind in set(kinds) - {"formal"})


def test_a_seed_fixes_everything() -> None:
    def found(environment: JudgedEnvironment) -> list[Any]:
        rewrites = [Rewrite((query.text,)) for query in environment.queries]
        rankings = environment.retriever.search(rewrites, k=50, with_documents=True)
        return [(ranking.texts, ranking.scores.tolist()) for ranking in rankings]

    config = SimulatorConfig(seed=5, n_train=40, n_test=20)
    first, second = simulate(config), simulate(config)
    other = simulate(SimulatorConfig(seed=6, n_train=40, n_test=20))
    assert first.queries == second.queries
    assert first.qrels == second.qrels
    assert first.kinds == second.kinds
    assert found(first) == found(second)
    assert first.queries != other.queries


def test_other_mixes() -> None:
    config = SimulatorConfig(
        n_train=7, n_test=3, shares={"vague": 0.5, "chatty": 0.5}, typo_share=1.0
    )
    environment = simulate(config)
    assert set(environment.kinds.values()) == {"vague", "chatty"}
    assert (len(environment.train), len(environment.test)) == (7, 3)


def test_plans_are_lost_without_stop_words_and_filler_leaves_nothing() -> None:
    assert all(set(plan.split()) <= ENGLISH_STOP_WORDS for plan in PLAN_NAMES)
    words = [word for plan in PLAN_NAMES for word in set(plan.split())]
    assert len(set(words)) == len(words)
    assert all(keyword_form(f"{phrase} taplu") == "taplu" for phrase in FILLER)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"seed": -1}, "seed must be at least 0"),
        ({"n_train": 0}, "n_train must be at least 1"),
        ({"n_topics": 2}, "n_topics must lie between"),
        ({"documents_per_topic": 90}, "documents_per_topic must lie between"),
        ({"documents_per_topic": 10}, "documents_per_topic must lie between"),
        ({"shares": {"formal": 0.5}}, "sum to 1"),
        ({"shares": {"polite": 1.0}}, "name only formal"),
        ({"shares": {"formal": 1.5, "vague": -0.5}}, ">= 0"),
        ({"typo_share": 1.5}, "typo_share must lie in"),
        ({"other_history_share": -0.1}, "other_history_share must lie in"),
    ],
)
def test_settings_that_void_the_optimum_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SimulatorConfig(**settings)


def test_more_queries_than_there_are_words_for() -> None:
    with pytest.raises(InputError, match="different vague queries ran out"):
        simulate(SimulatorConfig(n_topics=6, documents_per_topic=18, n_train=5000,
                                 shares={"vague": 1.0}))  # fmt: skip
