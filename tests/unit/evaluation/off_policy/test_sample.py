from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rl_rewriter.errors import InputError
from tests.unit.evaluation.off_policy.worlds import by_hand

NAN = float("nan")


def test_weights_are_the_ratio_of_the_probabilities() -> None:
    assert by_hand().weights.tolist() == [2.0, 0.0, 4.0, 1.0]


def test_weights_are_cut_only_where_asked() -> None:
    assert by_hand(largest_weight=3.0).weights.tolist() == [2.0, 0.0, 3.0, 1.0]
    assert by_hand(largest_weight=3.0).uncut_weights.tolist() == [2.0, 0.0, 4.0, 1.0]


def test_records_without_a_propensity_are_counted_and_not_weighted() -> None:
    sample = by_hand(propensities=[0.5, NAN, 0.25, NAN])
    with pytest.raises(InputError, match="2 of 4 records have no propensity"):
        _ = sample.weights


def test_what_needs_a_model_says_so() -> None:
    with pytest.raises(InputError, match="needs predicted rewards"):
        _ = by_hand(predicted=None).expected


def test_a_subset_numbers_its_groups_anew() -> None:
    sample = by_hand(groups=[0, 1, 2, 2], logging=np.full((4, 2), 0.5)).subset(np.asarray([2, 3]))
    assert sample.groups is not None
    assert sample.groups.tolist() == [0, 0]
    assert (sample.n_independent, len(sample)) == (1, 2)
    assert sample.weights.tolist() == [4.0, 1.0]


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"rewards": [1.0, 0.0]}, r"actions must have shape \(2,\), got \(4,\)"),
        ({"predicted": [[0.0]]}, r"predicted must have shape \(4, 2\)"),
        ({"logging": [[0.5, 0.5]]}, r"logging must have shape \(4, 2\)"),
        ({"groups": [0, 1]}, r"groups must have shape \(4,\)"),
        ({"groups": [0, 2, 2, 3]}, "numbers of groups must run from 0 on without gaps"),
        ({"rewards": [1.0, NAN, 0.0, 0.0]}, "rewards holds NaN or infinite values"),
        ({"rewards": [1.0, np.inf, 0.0, 0.0]}, "rewards holds NaN or infinite values"),
        ({"target": [[NAN, 1.0]] * 4}, "target holds NaN or infinite values"),
        ({"target": [[0.5, 0.4]] * 4}, "rows of target must be probabilities that sum to 1"),
        ({"target": [[1.5, -0.5]] * 4}, "rows of target must be probabilities that sum to 1"),
        ({"logging": [[0.5, 0.4]] * 4}, "rows of logging must be probabilities that sum to 1"),
        ({"propensities": [0.5, 0.0, 0.5, 0.5]}, r"must lie in \(0, 1\], got 0.0 to 0.5"),
        ({"propensities": [0.5, 1.5, 0.5, 0.5]}, r"must lie in \(0, 1\], got 0.5 to 1.5"),
        ({"actions": [0, 2, 0, 0]}, "actions must lie in 0 to 1, got 0 to 2"),
        ({"largest_weight": 0.0}, "largest_weight must be positive, got 0.0"),
    ],
)
def test_what_cannot_be_estimated_from_is_refused(changed: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        by_hand(**changed)


def test_no_records_are_refused() -> None:
    nothing: dict[str, Any] = {name: [] for name in ("rewards", "actions", "propensities")}
    with pytest.raises(InputError, match="there are no records"):
        by_hand(**nothing, target=np.empty((0, 2)), predicted=None)
