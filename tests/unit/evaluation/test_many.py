"""Tests and intervals of many systems at once are those of each of them alone."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from rl_rewriter.evaluation.comparison import compare
from rl_rewriter.evaluation.many import compare_many, intervals, sign_tests
from rl_rewriter.evaluation.significance import bootstrap_interval


def exact(differences: list[float]) -> float:
    """Share of all sign patterns whose sum is at least as far from 0."""
    sums = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    return sum(total >= abs(sum(differences)) - 1e-12 for total in sums) / len(sums)


def test_few_differences_are_enumerated() -> None:
    rows = [[0.1, 0.2, -0.05, 0.3], [0.0, 0.0, 0.4, 0.1], [0.0, 0.0, 0.0, 0.0]]
    assert sign_tests(np.array(rows)) == pytest.approx([exact(row) for row in rows])


def test_queries_of_a_group_change_sign_together() -> None:
    differences = np.array([[0.1, 0.2, -0.05, 0.3]])
    assert sign_tests(differences, groups=["a", "a", "b", "b"]) == [exact([0.3, 0.25])]


def test_many_differences_are_drawn_as_for_one_system() -> None:
    rng = np.random.default_rng(0)
    baseline = rng.random(60)
    systems = baseline + rng.normal(0.03, 0.2, (4, 60))
    found = compare_many(systems, baseline, seed=3)
    for system, comparison in zip(systems, found, strict=True):
        alone = compare(system, baseline, seed=3)
        assert comparison.p_value == alone.p_value
        assert comparison.ci95 == pytest.approx(alone.ci95)
        assert comparison.delta == alone.delta
        assert comparison.p_t == alone.p_t
        assert comparison.worst_decile == alone.worst_decile


def test_intervals_resample_whole_groups() -> None:
    rng = np.random.default_rng(1)
    values = rng.random((3, 40))
    groups = [f"need {query // 4}" for query in range(40)]
    found = intervals(values, groups=groups, seed=2)
    assert found.shape == (3, 2)
    for row, ends in zip(values, found, strict=True):
        assert ends.tolist() == pytest.approx(bootstrap_interval(row, groups=groups, seed=2))


def test_the_level_holds_where_nothing_differs() -> None:
    """Of systems that are no better, about one in twenty is found to be."""
    rng = np.random.default_rng(7)
    p_values = sign_tests(rng.normal(0.0, 1.0, (400, 30)), draws=1000)
    assert 0.02 < np.mean(np.array(p_values) < 0.05) < 0.08
