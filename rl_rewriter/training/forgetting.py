"""Old records count for less, so that a policy follows a world that changes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from rl_rewriter.errors import InputError
from rl_rewriter.logs.bandit import LoggedBandit, Values
from rl_rewriter.logs.config import SECONDS_A_DAY

_LEAST = 1e-12
"""No weight is below this: a sum of weights that are all 0 has no mean."""


def forgetting(log: LoggedBandit, half_life_days: float) -> LoggedBandit:
    """The same log with weights ``0.5 ** (age / half_life)``, age counted from its newest record.

    Exponential forgetting, as in discounted least squares (Kulhavy and Zarrop, 1993) and in
    discounted bandits (Garivier and Moulines, 2011): with a constant flow of ``f`` records a day,
    all of them together weigh as much as ``f * half_life / ln 2`` new ones.

    Args:
        log: Decisions with their times.
        half_life_days: Age in days at which a record counts for half of the newest.

    Raises:
        InputError: The half-life isn't a positive number.
    """
    require_half_life(half_life_days)
    ages = (float(log.times.max()) - log.times) / (half_life_days * SECONDS_A_DAY)
    return replace(log, weights=np.maximum(np.exp2(-ages), _LEAST))


def require_half_life(days: float) -> None:
    """Refuse what isn't a length of time.

    Raises:
        InputError: It isn't a positive, finite number.
    """
    if not 0.0 < days < math.inf:
        raise InputError(f"half_life_days must be a positive number of days, got {days}")


def effective_size(weights: Values) -> float:
    """``(sum w)^2 / sum w^2``: how many records of equal weight tell as much (Kish, 1965).

    Args:
        weights: Shape ``(n,)``, positive.
    """
    return float(weights.sum() ** 2 / np.square(weights).sum())
