"""Rewards of lists explained by their documents' features: what a document is expected to add."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rl_rewriter.policies.protocols import Values
from rl_rewriter.rewards.reward import Table
from rl_rewriter.training.credit.slates import DISCOUNTS, Slates
from rl_rewriter.types import Matrix

PENALTIES = (0.1, 1.0, 10.0, 100.0, 1000.0)
MOST_WEIGHED = 20_000
"""Lists that features are weighed by: those that count for most."""
_FOLDS = 5
_CONSTANT = 1e-6
_RARE = -5.0
"""Log-odds of a document without features: few of the many candidates earn anything."""


@dataclass(frozen=True, eq=False)
class Expected:
    """A model of rewards, ``intercept + sum_k discount_k credit(features_k)``.

    It is fitted with credits below 0, too, which later count as none.

    Attributes:
        weights: One a feature, ``(f,)``.
        intercept: What a list of irrelevant documents earns.
        penalty: Of the squared weights, chosen by the error on queries that were left out.
        explained: Share of the rewards' variance explained on those; 0 where there is one query.
    """

    weights: Values
    intercept: float
    penalty: float
    explained: float

    def credit(self, features: Matrix) -> Table:
        """What documents are expected to add where they stand first, ``(n, p, f)`` -> ``(n, p)``.

        Between 0 and 1, and 0 without features: a logistic function of their weighted sum, less
        what it is at 0.
        """
        return np.maximum(_credit(features @ self.weights), 0.0)


def fit_expected(features: Matrix, slates: Slates) -> Expected:
    """Weigh features by least squares, with a penalty that is chosen by cross-validation.

    Args:
        features: Of all candidates, ``(n, p, f)``.
        slates: What was shown, and what it earned.
    """
    slates = slates.of(np.sort(np.argsort(-slates.weights, kind="stable")[:MOST_WEIGHED]))
    is_known = slates.places >= 0
    shown = features[slates.rows[:, None], np.maximum(slates.places, 0)] * is_known[:, :, None]
    scale = _scale(shown[is_known], np.repeat(slates.weights, is_known.sum(axis=1)))
    problem = _Problem(shown / scale, slates.rewards, slates.weights)
    queries, number_of = np.unique(slates.rows, return_inverse=True)
    fold = number_of.reshape(-1) % _FOLDS
    errors = dict.fromkeys(PENALTIES, 0.0)
    for number in range(min(_FOLDS, len(queries))) if len(queries) > 1 else ():
        learned_from, out = problem.of(fold != number), problem.of(fold == number)
        point = learned_from.start
        for penalty in reversed(PENALTIES):
            point = learned_from.solved(penalty, point)
            errors[penalty] += out.error(point)
    penalty = min(errors, key=lambda one: (errors[one], -one))
    point = problem.solved(penalty, problem.start)
    whole = problem.error(problem.start)
    explained = 1.0 - errors[penalty] / whole if whole > 0 and len(queries) > 1 else 0.0
    return Expected(point[:-1] / scale, float(point[-1]), penalty, explained)


def _scale(known: Matrix, weights: Values) -> Values:
    """Deviation of each feature over the shown documents; 1 where it doesn't vary."""
    if not len(known):
        return np.ones(known.shape[1])
    off = known - np.average(known, axis=0, weights=weights)
    spread = np.sqrt(np.average(off**2, axis=0, weights=weights))
    return np.where(spread > _CONSTANT, spread, 1.0)


def summed(credits: Table, slates: Slates) -> Values:
    """Discounted sums of the credits of shown documents, ``(n, p)`` -> ``(d,)``."""
    shown = credits[slates.rows[:, None], np.maximum(slates.places, 0)]
    return np.asarray(np.where(slates.places >= 0, shown, 0.0) @ DISCOUNTS)


@dataclass(frozen=True, eq=False)
class _Problem:
    """Lists: scaled features of their documents ``(d, k, f)``, rewards and weights ``(d,)``."""

    shown: Table
    rewards: Values
    weights: Values

    @property
    def mean(self) -> float:
        return float(np.average(self.rewards, weights=self.weights))

    def of(self, lists: Values) -> _Problem:
        return _Problem(self.shown[lists], self.rewards[lists], self.weights[lists])

    @property
    def start(self) -> Values:
        """No weights, and the mean."""
        return np.append(np.zeros(self.shown.shape[2]), self.mean)

    def told(self, point: Values) -> Values:
        return np.asarray(point[-1] + _credit(self.shown @ point[:-1]) @ DISCOUNTS)

    def error(self, point: Values) -> float:
        return float(self.weights @ (self.told(point) - self.rewards) ** 2)

    def solved(self, penalty: float, start: Values) -> Values:
        """The weights and, last, the intercept of the least penalised error."""
        from scipy.optimize import least_squares

        roots = np.sqrt(self.weights)

        def residuals(point: Values) -> Values:
            off = roots * (self.told(point) - self.rewards)
            return np.append(off, penalty**0.5 * point[:-1])

        def jacobian(point: Values) -> Table:
            chance = _logistic(self.shown @ point[:-1] + _RARE)
            slopes = DISCOUNTS * chance * (1.0 - chance)
            by_weight = roots[:, None] * np.einsum("dk,dkf->df", slopes, self.shown)
            pulls = penalty**0.5 * np.eye(len(point) - 1, len(point))
            return np.concatenate([np.column_stack([by_weight, roots]), pulls])

        return np.asarray(least_squares(residuals, start, jacobian, method="lm").x)


def _credit(total: Table) -> Table:
    return _logistic(total + _RARE) - _logistic(np.asarray(_RARE))


def _logistic(total: Table) -> Table:
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * total))
