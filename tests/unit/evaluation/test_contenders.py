"""Contenders on a table by hand, as a whole and by kind."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest

from rl_rewriter.evaluation.contenders import Contenders

VALUES = np.asarray([[0.5, 0.7, 0.1], [0.5, 0.2, 0.9], [0.5, 0.5, 0.5], [0.5, 0.9, 0.4]])
FIXED, PREDICTED = np.asarray([1, 1, 1, 0]), np.asarray([1, 2, 0, 0])


def test_every_contender_gets_its_own_values() -> None:
    found = Contenders.of(VALUES, FIXED, PREDICTED)
    assert found.keep.tolist() == [0.5] * 4
    assert found.fixed.tolist() == [0.7, 0.2, 0.5, 0.5]
    assert found.predicted is not None
    assert found.predicted.tolist() == [0.7, 0.9, 0.5, 0.5]
    assert found.oracle.tolist() == [0.7, 0.9, 0.5, 0.9]
    assert found.differs.tolist() == [True, True, False, True]


def test_what_is_reached_without_hindsight() -> None:
    assert Contenders.of(VALUES, FIXED, PREDICTED).reached == pytest.approx(0.65)
    assert Contenders.of(VALUES, FIXED, None).reached == pytest.approx(0.5)
    assert Contenders.of(VALUES, np.full(4, 1), None).reached == pytest.approx(0.575)


def test_the_captured_part_of_the_gap() -> None:
    found = Contenders.of(VALUES, FIXED, PREDICTED)  # 0.475 to 0.65 of 0.75
    assert found.captured(0.005) == pytest.approx(0.175 / 0.275)
    assert found.captured(0.3) is None
    assert Contenders.of(VALUES, FIXED, None).captured(0.005) is None


def test_figures_by_kind() -> None:
    found = Contenders.of(VALUES, FIXED, PREDICTED).by_kind(["short", "long", "long", "short"])
    assert list(found) == ["long", "short"]
    assert astuple(found["long"]) == pytest.approx((2, 0.5, 0.35, 0.7, 0.5))
    assert astuple(found["short"]) == pytest.approx((2, 0.5, 0.6, 0.8, 1.0))
    assert Contenders.of(VALUES, FIXED, None).by_kind(None) == {}
