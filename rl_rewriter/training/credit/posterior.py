"""What a query's own rewards add to what was expected of its documents."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rl_rewriter.policies.protocols import Values
from rl_rewriter.rewards.reward import Table
from rl_rewriter.training.credit.slates import DISCOUNTS, Slates

NOISES: Values = 10.0 ** np.arange(-4.5, 1.0, 0.5)
"""Variances of a reward's noise, in units of that of a credit."""
_LEAST = 0.01
_TIED = 1.0 + 1e-6


def posterior(expected: Table, slates: Slates, intercept: float) -> tuple[Table, float]:
    """Posterior mean of every candidate's credit, ``(n, p)``, and the error of leaving one out.

    A Gaussian process by query: credits are independent around ``expected``, with a variance in
    proportion to ``m (1 - m) + .01``, as of something that is mostly 0 or 1; a decision's reward is
    their discounted sum over the list, plus noise of a variance in proportion to
    ``s / weight``. ``s`` is the one by which each reward is best predicted from the query's other
    ones (Rasmussen and Williams 2006, section 5.4.2), and the largest where that tells nothing, as
    with one list a query; the mean depends on no other scale.

    Args:
        expected: What is expected of each candidate, ``(n, p)``, in [0, 1].
        slates: What was shown, and what it earned.
        intercept: What a list of irrelevant documents earns.

    Returns:
        The credits, and the weighted mean squared error of rewards predicted so.
    """
    errors = np.zeros(len(NOISES))
    for one in _by_query(expected, slates, intercept):
        errors += one.left_out(NOISES)
    best = int(np.flatnonzero(errors <= errors.min() * _TIED)[-1])
    found = expected.copy()
    for one in _by_query(expected, slates, intercept):  # anew: all of them are too much to hold
        found[one.row, one.places] += one.update(float(NOISES[best]))
    return found, float(errors[best] / slates.weights.sum())


class _Problem:
    """The decisions about one query, and the candidates that they showed."""

    def __init__(
        self,
        row: int,
        places: np.ndarray,
        design: Table,
        residuals: Values,
        weights: Values,
        spread: Values,
    ) -> None:
        self.row, self.places = row, places
        self._scaled, self._roots = design * spread, np.sqrt(weights)
        self._residuals = self._roots * residuals
        self._gram = self._roots[:, None] * (self._scaled @ design.T) * self._roots

    def left_out(self, noises: Values) -> Values:
        """Weighted squared errors of each reward predicted from the others, one sum a noise."""
        variances, axes = np.linalg.eigh(self._gram)
        shrunk = 1.0 / (np.maximum(variances, 0.0)[:, None] + noises)
        errors = (axes @ (shrunk * (axes.T @ self._residuals)[:, None])) / (axes**2 @ shrunk)
        return np.asarray((errors**2).sum(axis=0))

    def update(self, noise: float) -> Values:
        """What is added to the credits of the shown candidates."""
        noisy = self._gram + noise * np.eye(len(self._gram))
        solved = self._roots * np.linalg.solve(noisy, self._residuals)
        return np.asarray(self._scaled.T @ solved)


def _by_query(expected: Table, slates: Slates, intercept: float) -> Iterator[_Problem]:
    order = np.argsort(slates.rows, kind="stable")
    starts = np.flatnonzero(np.diff(slates.rows[order], prepend=-1))
    for decisions in np.split(order, starts[1:]):
        if not len(decisions):
            continue
        row = int(slates.rows[decisions[0]])
        one = slates.of(decisions)
        places = np.unique(one.places[one.places >= 0])
        design = np.zeros((len(one), len(places)))
        decision, rank = np.nonzero(one.places >= 0)
        column = np.searchsorted(places, one.places[decision, rank])
        np.add.at(design, (decision, column), DISCOUNTS[rank])
        mean = expected[row, places]
        residuals = one.rewards - intercept - design @ mean
        spread = mean * (1.0 - mean) + _LEAST
        yield _Problem(row, places, design, residuals, one.weights, spread)
