"""The ladder without blends."""

from __future__ import annotations

import numpy as np
import pytest

from rl_rewriter.envs.table import RewardTable
from rl_rewriter.errors import InputError
from rl_rewriter.training.ladder.config import LadderConfig
from rl_rewriter.training.ladder.folds import group_folds
from rl_rewriter.training.ladder.singles import Singles, cross_fit_single, fit_singles, try_singles

N = 200
GROUPS = [f"g{row}" for row in range(N)]


def values_of(worse: int) -> np.ndarray:
    """Keep, and an action that half of the queries are better by and some worse."""
    gains = np.where(np.arange(N) < N // 2, 0.5, 0.0)
    gains[N // 2 : N // 2 + worse] = -0.1
    return np.stack([np.full(N, 0.4), 0.4 + gains], axis=1)


def test_the_best_single_action_is_chosen_on_the_other_folds() -> None:
    folds = group_folds(["a", "b"], 2, seed=0)
    values = np.asarray([[0.5, 1.0, 0.0], [0.5, 0.0, 1.0]])
    net, hurt = cross_fit_single(Singles.at_no_price(values), [folds])
    assert (net.tolist(), hurt) == ([0.0, 0.0], 1.0)


def test_several_divisions_tell_their_mean() -> None:
    drawn = np.random.default_rng(0).random((60, 5))
    singles = Singles.at_no_price(drawn)
    divisions = [group_folds([str(row) for row in range(60)], 5, seed) for seed in range(3)]
    each = [cross_fit_single(singles, [one]) for one in divisions]
    net, hurt = cross_fit_single(singles, divisions)
    assert net == pytest.approx(np.mean([found for found, _ in each], axis=0))
    assert hurt == pytest.approx(np.mean([share for _, share in each]))
    assert len({found.tobytes() for found, _ in each}) == 3


def test_so_many_divisions_are_made_as_the_settings_say() -> None:
    singles = Singles.at_no_price(np.random.default_rng(0).random((60, 5)))
    folds = group_folds([str(row) for row in range(60)], 5, 0)
    one, ten, again = (
        try_singles(singles, folds, LadderConfig(divisions=divisions), 0).values["single"]
        for divisions in (1, 10, 10)
    )
    others = [folds.divided_anew((0, number)) for number in range(1, 10)]
    assert one.tolist() == cross_fit_single(singles, [folds])[0].tolist()
    assert ten.tolist() == again.tolist() == cross_fit_single(singles, [folds, *others])[0].tolist()


def test_what_an_action_costs_hurts_nobody() -> None:
    values = values_of(worse=2)
    singles = Singles(values, values - np.asarray([0.0, 0.01]))
    found = fit_singles(singles, GROUPS, LadderConfig(hurt_limit=0.06), seed=0)
    assert (found.rung, found.report.hurt["single"]) == ("single", 2 / N)
    assert found.report.values["single"] == pytest.approx(values[:, 1].mean() - 0.01)


@pytest.mark.parametrize(
    ("worse", "limit", "rung"),
    [(20, None, "single"), (2, 0.06, "single"), (20, 0.06, "keep")],
)
def test_the_best_single_action_stands_where_it_hurts_few_enough(
    worse: int, limit: float | None, rung: str
) -> None:
    found = fit_singles(
        Singles.at_no_price(values_of(worse)), GROUPS, LadderConfig(hurt_limit=limit), seed=0
    )
    assert (found.rung, found.report.rung, found.single) == (rung, rung, 1)
    assert not found.is_blend
    assert found.report.hurt["single"] == worse / N
    assert found.is_open.all() == (rung == "single")
    assert np.array_equal(found.served, found.cross_fitted[found.rung])
    assert bool(found.report.on_limit) is (limit is not None)


def test_what_is_no_number_is_refused() -> None:
    values = values_of(worse=2)
    unknown = np.where(np.arange(N)[:, None] == 3, np.nan, values)
    for pair in ((unknown, values), (values, values - np.asarray([0.0, np.inf]))):
        with pytest.raises(InputError, match=r"must be finite, and 2(00)? of 400 aren't"):
            Singles(*pair)


def test_the_best_action_is_best_after_its_price() -> None:
    values = np.tile(np.asarray([0.2, 0.5, 0.4]), (N, 1))
    assert Singles.at_no_price(values).best == 1
    assert Singles(values, values - np.asarray([0.0, 0.3, 0.0])).best == 2


def test_a_table_tells_values_and_what_is_left_of_them() -> None:
    values = values_of(worse=2)
    gains = values - values[:, :1] - np.asarray([0.0, 0.1])
    table = RewardTable(
        query_ids=tuple(GROUPS),
        action_names=("keep", "other"),
        states=np.zeros((N, 0), dtype=np.float32),
        mask=np.ones((N, 2), dtype=np.bool_),
        values=values,
        rewards=gains,
    )
    singles = Singles.of(table)
    assert singles.values.tolist() == values.tolist()
    assert singles.net == pytest.approx(values - np.asarray([0.0, 0.1]))
