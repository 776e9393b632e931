"""The chi-square distribution, without a package that serving doesn't have."""

from __future__ import annotations

import math

_PRECISION = 1e-14
_MOST_TERMS = 10_000


def survival(x: float, freedom: float) -> float:
    """``P(X >= x)`` of a chi-square variable (Abramowitz and Stegun, 6.5.29 and 6.5.31).

    Args:
        x: At least 0.
        freedom: Degrees of freedom, above 0; they need not be a whole number.
    """
    if x <= 0.0:
        return 1.0
    shape, half = 0.5 * freedom, 0.5 * x
    scale = math.exp(shape * math.log(half) - half - math.lgamma(shape))
    if half < shape + 1.0:
        return max(0.0, 1.0 - scale * _series(shape, half))
    return min(1.0, scale * _fraction(shape, half))


def _series(shape: float, half: float) -> float:
    """What the lower incomplete gamma function is beside ``half^shape e^-half``."""
    term = total = 1.0 / shape
    for _ in range(_MOST_TERMS):
        shape += 1.0
        term *= half / shape
        total += term
        if term <= _PRECISION * total:
            break
    return total


def _fraction(shape: float, half: float) -> float:
    """What the upper one is beside it: a continued fraction, by Lentz's method."""
    step = half + 1.0 - shape
    numerator, denominator = math.inf, 1.0 / step
    value = denominator
    for number in range(1, _MOST_TERMS):
        factor = -number * (number - shape)
        step += 2.0
        denominator = 1.0 / (factor * denominator + step)
        numerator = step + factor / numerator
        value *= denominator * numerator
        if abs(denominator * numerator - 1.0) < _PRECISION:
            break
    return value


def quantile(p_above: float, freedom: float) -> float:
    """The ``x`` with ``P(X >= x) = p_above``, by bisection; ``p_above`` within (0, 1)."""
    low, high = 0.0, 1.0
    while survival(high, freedom) > p_above:
        high *= 2.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        if survival(middle, freedom) > p_above:
            low = middle
        else:
            high = middle
    return high
