"""Harm is that of one policy, not of the mean of several."""

from __future__ import annotations

import numpy as np
import pytest

from rl_rewriter.benchmark.comparison.harm import harm_of
from rl_rewriter.evaluation.held_out import HeldOut

VALUES = np.asarray([[0.5, 0.0, 1.0]] * 4)
"""Four queries: keep, an action that hurts each of them, and one that helps."""


def held_out(*choices: list[int]) -> HeldOut:
    return HeldOut(
        action_names=("keep", "worse", "better"),
        metric="m",
        values={"m": VALUES},
        choices={"keep": np.zeros((1, 4), dtype=np.intp), "policy": np.asarray(choices)},
    )


def test_gains_of_one_policy_do_not_hide_losses_of_another() -> None:
    """The means of the two are those of keep on all queries: nobody would seem to be hurt."""
    found = harm_of(held_out([1, 1, 2, 0], [2, 2, 1, 0]), "policy")
    assert (found.hurt_share, found.helped_share) == (3 / 8, 3 / 8)
    assert found.worst_decile == pytest.approx(-0.5)


def test_one_bad_policy_of_two_hurts_half_as_much() -> None:
    found = harm_of(held_out([1, 1, 1, 1], [0, 0, 0, 0]), "policy")
    assert (found.hurt_share, found.helped_share, found.worst_decile) == (0.5, 0.0, -0.25)


def test_keep_hurts_nobody() -> None:
    assert harm_of(held_out([0, 0, 0, 0]), "keep") == (0.0, 0.0, 0.0)
