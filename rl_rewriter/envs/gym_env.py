"""The Gymnasium face of a reward table: one query an episode, one action, done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from rl_rewriter.envs.table import RewardTable
from rl_rewriter.errors import InputError, MissingExtraError
from rl_rewriter.types import Vector

try:
    import gymnasium
    from gymnasium.spaces import Box, Discrete
except ImportError as error:
    raise MissingExtraError("gymnasium", "train") from error


class QueryRewriteEnv(gymnasium.Env[Vector, np.int64]):
    """A contextual bandit as one-step episodes.

    ``reset`` draws a query, or takes the one of ``options={"row": 3}``; its info holds
    ``query_id`` and ``action_mask``, ``(m,)`` int8 as ``action_space.sample(mask=...)`` takes it.
    ``step`` returns the action's reward and terminates; its info adds ``action`` (the name of what
    was carried out), ``value`` (its metric) and ``masked`` (whether the action could not be carried
    out, so that the query was kept). The observation after the step is the same state again: an
    episode has no other.

    In a vector environment use ``AutoresetMode.SAME_STEP``: under the default mode every second
    step would be spent on resetting.

    Args:
        table: Outcomes of every action on every query.

    Raises:
        InputError: The table holds no query.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}  # type: ignore[misc]

    def __init__(self, table: RewardTable) -> None:
        if not len(table):
            raise InputError("an environment needs at least one query, the reward table has none")
        self._table = table
        self._row = 0
        self._running = False
        n_columns = table.states.shape[1]
        self.observation_space = Box(-np.inf, np.inf, shape=(n_columns,), dtype=np.float32)
        self.action_space = Discrete(len(table.action_names))

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Vector, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: Seeds the draws of this and all later episodes.
            options: ``{"row": index}`` to choose the query.

        Raises:
            InputError: There is no such row.
        """
        super().reset(seed=seed)
        row = (options or {}).get("row")
        self._row = int(self.np_random.integers(len(self._table))) if row is None else self._at(row)
        self._running = True
        return self._observation(), self._info()

    def step(self, action: np.int64 | int) -> tuple[Vector, float, bool, bool, dict[str, Any]]:
        """Carry out an action on the episode's query, which ends the episode.

        Raises:
            InputError: No episode is running, or there is no such action.
        """
        if not self._running:
            raise InputError("step() has no query to act on; call reset() before each step()")
        if not self.action_space.contains(action):
            raise InputError(
                f"there is no action {action!r}; give an integer from 0 to "
                f"{len(self._table.action_names) - 1}"
            )
        self._running = False
        possible = bool(self._table.mask[self._row, action])
        carried_out = int(action) if possible else 0
        info = {
            **self._info(),
            "action": self._table.action_names[carried_out],
            "value": float(self._table.values[self._row, carried_out]),
            "masked": not possible,
        }
        reward = float(self._table.rewards[self._row, carried_out])
        return self._observation(), reward, True, False, info

    def _at(self, row: Any) -> int:
        is_integer = isinstance(row, (int, np.integer)) and not isinstance(row, bool)
        if not is_integer or not 0 <= row < len(self._table):
            raise InputError(
                f"there is no row {row!r}; give an integer from 0 to {len(self._table) - 1}"
            )
        return int(row)

    def _observation(self) -> Vector:
        return np.array(self._table.states[self._row], dtype=np.float32)

    def _info(self) -> dict[str, Any]:
        return {
            "query_id": self._table.query_ids[self._row],
            "action_mask": self._table.mask[self._row].astype(np.int8),
        }
