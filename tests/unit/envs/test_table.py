"""Do a table's arrays stay together?"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rl_rewriter.envs.table import RewardTable
from rl_rewriter.errors import InputError


def test_outcomes_are_cells(table: RewardTable) -> None:
    rows, actions = np.asarray([2, 0, 2]), np.asarray([2, 1, 0])
    assert table.outcome(rows, actions).tolist() == [2.95, 0.95, 0.0]


def test_a_subset_takes_every_array_along(table: RewardTable) -> None:
    part = table.subset([3, 1])
    assert part.query_ids == ("q3", "q1")
    assert len(part) == 2
    for name in ("states", "mask", "values", "rewards"):
        assert np.array_equal(getattr(part, name), getattr(table, name)[[3, 1]])


@pytest.mark.parametrize("name", ["states", "mask", "values", "rewards"])
def test_arrays_of_other_sizes_are_refused(table: RewardTable, name: str) -> None:
    with pytest.raises(InputError, match="expected"):
        dataclasses.replace(table, **{name: getattr(table, name)[:-1]})
