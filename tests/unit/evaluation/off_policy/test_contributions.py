from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from rl_rewriter.evaluation.off_policy.contributions import Contributions, Part
from rl_rewriter.evaluation.off_policy.estimators import dm, dr, ips, sndr, snips
from tests.unit.evaluation.off_policy.worlds import by_hand, world

Array = npt.NDArray[np.float64]


def without(part: Part, kept: npt.NDArray[np.bool_]) -> float:
    weights = None if part.weights is None else part.weights[kept]
    return Part(part.numerator[kept], weights).value


@pytest.mark.parametrize("groups", [None, [0, 0, 1, 1, 2, 2, 2, 3, 3, 3]])
def test_deviations_of_a_ratio_are_those_of_leaving_groups_out(groups: list[int] | None) -> None:
    """``v - v without g``, times the number of groups."""
    [part] = snips(world().sample(10, 3, target=np.full((500, 4), 0.25))).parts
    codes = np.arange(10) if groups is None else np.asarray(groups)
    count = int(codes.max()) + 1
    left_out = [part.value - without(part, codes != group) for group in range(count)]
    found = Contributions((part,)).deviations(None if groups is None else codes)
    assert found == pytest.approx(count * np.asarray(left_out))


def test_deviations_of_a_mean_are_those_from_the_mean() -> None:
    sample = by_hand()
    assert ips(sample).deviations() == pytest.approx(sample.weights * sample.rewards - 1.625)


def test_deviations_of_groups_are_sums() -> None:
    found = Contributions((Part(np.asarray([1.0, 2.0, 6.0])),)).deviations(np.asarray([0, 1, 1]))
    assert found == pytest.approx(np.asarray([-2.0, 2.0]) * 2 / 3)  # (1 - 3) and (2 - 3) + (6 - 3)


def test_one_record_with_all_the_weight_makes_a_ratio_uncertain_without_end() -> None:
    estimate = Contributions((Part(np.asarray([0.0, 2.0, 0.0]), np.asarray([0.0, 4.0, 0.0])),))
    assert estimate.value == 0.5
    assert estimate.deviations().tolist() == [0.0, np.inf, 0.0]


def test_the_difference_of_estimates_is_paired() -> None:
    sample = world().sample(50, 0)
    for first, second in ((dr, ips), (snips, dm), (sndr, snips)):
        difference = first(sample) - second(sample)
        assert difference.value == pytest.approx(first(sample).value - second(sample).value)
        expected = first(sample).values() - second(sample).values()
        assert difference.values() == pytest.approx(expected)


@pytest.mark.parametrize("estimator", [ips, snips, dr, sndr])
def test_a_policy_gains_exactly_nothing_over_itself(estimator: object) -> None:
    sample = world().sample(50, 0)
    difference = estimator(sample) - estimator(sample)  # type: ignore[operator]
    assert difference.value == 0.0
    assert not difference.deviations().any()
