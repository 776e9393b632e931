"""Does the Gymnasium face keep Gymnasium's rules and the table's numbers?"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from rl_rewriter.envs.gym_env import QueryRewriteEnv
from rl_rewriter.envs.table import RewardTable
from rl_rewriter.errors import InputError, MissingExtraError


@pytest.fixture
def env(table: RewardTable) -> QueryRewriteEnv:
    return QueryRewriteEnv(table)


@pytest.mark.filterwarnings("ignore:.*Box observation space (minimum|maximum) value.*")
@pytest.mark.filterwarnings("ignore:.*spec.*:UserWarning")
def test_gymnasiums_own_checker_passes(env: QueryRewriteEnv) -> None:
    check_env(env, skip_render_check=True)


@pytest.mark.parametrize("row", range(4))
@pytest.mark.parametrize("action", range(3))
def test_an_episode_is_one_cell_of_the_table(
    env: QueryRewriteEnv, table: RewardTable, row: int, action: int
) -> None:
    state, at_reset = env.reset(options={"row": row})
    _, reward, terminated, truncated, info = env.step(action)
    done = action if table.mask[row, action] else 0
    assert state.tolist() == table.states[row].tolist()
    assert at_reset["query_id"] == info["query_id"] == table.query_ids[row]
    assert at_reset["action_mask"].tolist() == table.mask[row].tolist()
    assert (reward, info["value"]) == (table.rewards[row, done], table.values[row, done])
    assert info["action"] == table.action_names[done]
    assert (terminated, truncated) == (True, False)


def test_a_masked_action_keeps_the_query_and_says_so(env: QueryRewriteEnv) -> None:
    env.reset(options={"row": 1})
    _, reward, _, _, info = env.step(2)
    assert (reward, info["action"], info["masked"]) == (0.0, "keep", True)
    env.reset(options={"row": 0})
    assert env.step(2)[4]["masked"] is False


def test_the_mask_fits_the_action_space(env: QueryRewriteEnv) -> None:
    _, info = env.reset(options={"row": 1})
    env.action_space.seed(0)
    assert {int(env.action_space.sample(mask=info["action_mask"])) for _ in range(50)} == {0, 1}


def test_a_step_needs_an_episode_of_its_own(env: QueryRewriteEnv) -> None:
    with pytest.raises(InputError, match=r"call reset\(\)"):
        env.step(0)
    env.reset()
    env.step(0)
    with pytest.raises(InputError, match=r"call reset\(\)"):
        env.step(0)


@pytest.mark.parametrize("action", [-1, 3, 1.0, "keep", None])
def test_no_such_action(env: QueryRewriteEnv, action: Any) -> None:
    env.reset(options={"row": 0})
    with pytest.raises(InputError, match="from 0 to 2"):
        env.step(action)
    assert env.step(1)[1] == 0.95  # the episode still runs


@pytest.mark.parametrize("row", [-1, 4, 1.0, True, "q1"])
def test_no_such_row(env: QueryRewriteEnv, row: Any) -> None:
    with pytest.raises(InputError, match="from 0 to 3"):
        env.reset(options={"row": row})


def test_what_is_returned_is_the_callers(env: QueryRewriteEnv, table: RewardTable) -> None:
    before = table.states.copy(), table.mask.copy()
    state, info = env.reset(options={"row": 2})
    after, *_, info_after = env.step(0)
    assert state is not after
    assert info["action_mask"] is not info_after["action_mask"]
    state[:] = after[:] = 99.0
    info["action_mask"][:] = info_after["action_mask"][:] = 0
    assert np.array_equal(env.reset(options={"row": 2})[0], before[0][2])
    assert np.array_equal(table.states, before[0])
    assert np.array_equal(table.mask, before[1])


def test_a_seed_fixes_the_draws_and_all_queries_are_drawn(table: RewardTable) -> None:
    def draws(seed: int) -> list[str]:
        env = QueryRewriteEnv(table)
        first = env.reset(seed=seed)[1]["query_id"]
        return [first, *(env.reset()[1]["query_id"] for _ in range(60))]

    assert draws(1) == draws(1) != draws(2)
    assert set(draws(1)) == set(table.query_ids)


def test_every_step_of_a_vector_environment_counts(table: RewardTable) -> None:
    makers = [lambda: QueryRewriteEnv(table) for _ in range(3)]
    envs: Any = SyncVectorEnv(makers, autoreset_mode=AutoresetMode.SAME_STEP)
    _, info = envs.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(20):
        rows = [table.query_ids.index(id_) for id_ in info["query_id"]]
        actions = rng.integers(3, size=3)
        done = np.where(table.mask[rows, actions], actions, 0)
        states, rewards, terminated, _, info = envs.step(actions)
        assert rewards.tolist() == table.rewards[rows, done].tolist()
        assert terminated.all()
        next_rows = [table.query_ids.index(id_) for id_ in info["query_id"]]
        assert states.tolist() == table.states[next_rows].tolist()
        assert info["final_info"]["query_id"].tolist() == [table.query_ids[row] for row in rows]
    envs.close()


def test_a_table_without_queries_is_refused(table: RewardTable) -> None:
    with pytest.raises(InputError, match="at least one query"):
        QueryRewriteEnv(table.subset([]))


def test_without_gymnasium_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "rl_rewriter.envs.gym_env")
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(MissingExtraError, match=r'pip install "rl-rewriter\[train\]"'):
        importlib.import_module("rl_rewriter.envs.gym_env")
