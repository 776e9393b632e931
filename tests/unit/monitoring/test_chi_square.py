"""Against scipy, which serving doesn't have."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from rl_rewriter.monitoring.chi_square import quantile, survival


@given(st.floats(0.0, 500.0), st.floats(0.5, 60.0))
def test_tails_are_those_of_scipy(x: float, freedom: float) -> None:
    assert survival(x, freedom) == pytest.approx(chi2.sf(x, freedom), rel=1e-8, abs=1e-15)


@given(st.floats(1e-8, 0.999), st.integers(1, 60))
def test_quantiles_are_those_of_scipy(p: float, freedom: int) -> None:
    assert quantile(p, freedom) == pytest.approx(chi2.isf(p, freedom), rel=1e-6, abs=1e-9)
