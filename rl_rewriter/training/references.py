"""What a policy is held to on the rows of a table, where that isn't the same everywhere."""

from __future__ import annotations

import numpy as np

from rl_rewriter.envs.table import RewardTable
from rl_rewriter.errors import InputError
from rl_rewriter.logs.bandit import LoggedBandit
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.policies.reference import HeldTo


def held_to_checkpoint(checkpoint: Checkpoint, table: RewardTable) -> HeldTo:
    """A saved policy's distributions on the rows of a table of raw states.

    Actions that the policy doesn't know have no probability, and those that the table doesn't have
    give theirs to the others.

    Raises:
        InputError: The policy reads other features than the table holds.
    """
    width = len(checkpoint.features.columns)
    if width != table.states.shape[1]:
        raise InputError(
            f"the reference policy reads {width} features but there are {table.states.shape[1]}; "
            "give one that was trained over the same kind of retriever"
        )
    place = {name: column for column, name in enumerate(table.action_names)}
    mask = np.ones((len(table), len(checkpoint.actions)), dtype=np.bool_)
    for column, name in enumerate(checkpoint.actions.names):
        if column:
            mask[:, column] = table.mask[:, place[name]] if name in place else False
    states = checkpoint.features.standardised(table.states)
    own = checkpoint.policy.distribution(states, mask).probabilities
    rows = np.zeros(table.mask.shape)
    for column, name in enumerate(checkpoint.actions.names):
        if name in place:
            rows[:, place[name]] = own[:, column]
    return HeldTo.by_rows(rows)


def held_to_log(log: LoggedBandit, table: RewardTable) -> HeldTo:
    """The distributions that logged decisions were drawn from, over the table's actions.

    Rows whose distribution isn't known are held to keep.
    """
    columns = [log.action_names.index(name) for name in table.action_names]
    rows = np.nan_to_num(log.probabilities[:, columns], nan=0.0)
    totals = rows.sum(axis=1, keepdims=True)
    rows[totals[:, 0] <= 0, 0] = 1.0
    return HeldTo.by_rows(rows / np.where(totals > 0, totals, 1.0))
