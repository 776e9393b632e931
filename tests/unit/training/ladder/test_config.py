"""Settings of the ladder."""

from __future__ import annotations

from typing import Any

import pytest

from rl_rewriter.errors import InputError
from rl_rewriter.training.ladder.config import LadderConfig


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"folds": 1}, "folds must be a whole number and at least 2, got 1"),
        ({"folds": 2.5}, "folds must be a whole number and at least 2, got 2.5"),
        ({"divisions": 0}, "divisions must be a whole number and at least 1, got 0"),
        ({"by_query": -1.0}, "by_query must be finite and at least 0, got -1.0"),
        ({"hurt_limit": 1.5}, r"hurt_limit must lie in \[0, 1\], got 1.5"),
        ({"hurt_limit": float("nan")}, r"hurt_limit must lie in \[0, 1\], got nan"),
    ],
)
def test_settings_that_cannot_work_are_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        LadderConfig(**wrong)
