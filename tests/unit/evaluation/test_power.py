"""Numbers of queries against textbook values, and against the power they promise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from rl_rewriter.evaluation.power import queries_needed
from rl_rewriter.evaluation.significance import t_test


def unit_spread(n: int) -> np.ndarray:
    values = np.random.default_rng(0).normal(size=n)
    return np.asarray((values - values.mean()) / values.std(ddof=1))


@pytest.mark.parametrize(("gain", "n"), [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_small_medium_and_large_effects_as_the_tables_have_them(gain: float, n: int) -> None:
    """Cohen's effects of paired differences, two-sided 5%, power 80%."""
    assert queries_needed(unit_spread(50), gain) == n


def test_the_number_gives_the_power_it_promises() -> None:
    gain, spread = 0.05, 0.2
    n = queries_needed(spread * unit_spread(100), gain)
    assert n is not None
    rng = np.random.default_rng(1)
    seen = [t_test(rng.normal(gain, spread, n)) < 0.05 for _ in range(1000)]
    assert np.mean(seen) == pytest.approx(0.8, abs=0.04)
    noncentral = stats.nct.sf(stats.t.ppf(0.975, n - 1), n - 1, gain / spread * np.sqrt(n))
    assert noncentral == pytest.approx(0.8, abs=0.01)


def test_more_spread_needs_more_and_a_larger_gain_less() -> None:
    def needed(scale: float, gain: float) -> int:
        return queries_needed(scale * unit_spread(40), gain) or 0

    assert needed(0.2, 0.02) > needed(0.1, 0.02) > needed(0.1, 0.05) > 0


def test_groups_that_move_as_one_count_as_one() -> None:
    once = unit_spread(30)
    groups = [f"g{row // 4}" for row in range(120)]
    assert queries_needed(np.repeat(once, 4), 0.5, groups=groups) == pytest.approx(
        4 * (queries_needed(once, 0.5) or 0), abs=4
    )


@pytest.mark.parametrize(
    ("differences", "gain"), [([0.1, 0.1], 0.1), ([0.1], 0.1), ([0.1, 0.2], 0.0), ([0.0, 1.0], -1)]
)
def test_no_number_without_a_spread_or_a_gain(differences: list[float], gain: float) -> None:
    assert queries_needed(np.asarray(differences), gain) is None
