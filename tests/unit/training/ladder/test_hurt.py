"""Which queries fall below keep, and whether few enough do."""

from __future__ import annotations

import numpy as np
import pytest

from rl_rewriter.training.ladder.hurt import holds, hurt_share, likely

KEEP = np.asarray([0.0, 0.3, 0.5, 1.0])


def test_one_standard_error_is_to_spare() -> None:
    assert likely(0.0, 10) == pytest.approx(1.0 / 11.0)
    assert likely(0.1, 100) == pytest.approx(0.1341, abs=1e-4)
    assert likely(0.1, 1_000_000) == pytest.approx(0.1 + 0.0003, abs=1e-5)


@pytest.mark.parametrize(
    ("change", "share"), [(0.0, 0.0), (1e-12, 0.0), (-1e-12, 0.0), (-0.1, 1.0)]
)
def test_a_rounding_error_hurts_nobody(change: float, share: float) -> None:
    assert hurt_share(KEEP + change, KEEP) == share


@pytest.mark.parametrize(
    ("hurt", "n_groups", "limit", "expected"),
    [
        (0.5, 4, None, True),
        (0.0, 4, 0.0, False),
        (0.0, 4, 0.1, False),
        (0.0, 40, 0.1, True),
        (0.05, 1000, 0.06, True),
        (0.05, 100, 0.06, False),
        (0.06, 10**6, 0.06, False),
    ],
)
def test_a_limit_holds_with_a_standard_error_to_spare(
    hurt: float, n_groups: int, limit: float | None, expected: bool
) -> None:
    assert holds(hurt, n_groups, limit) is expected
