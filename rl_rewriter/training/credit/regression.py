"""Rewards of lists regressed on their documents' features: what a document is expected to add."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rl_rewriter.policies.protocols import Values
from rl_rewriter.rewards.reward import Table
from rl_rewriter.training.credit.slates import DISCOUNTS, Slates
from rl_rewriter.types import Matrix

PENALTIES = (0.1, 1.0, 10.0, 100.0, 1000.0)
_FOLDS = 5


@dataclass(frozen=True, eq=False)
class Expected:
    """A linear model of rewards, ``intercept + sum_k discount_k weights . features_k``.

    Attributes:
        weights: One a feature, ``(f,)``.
        intercept: What a list of irrelevant documents earns.
        penalty: Ridge penalty, chosen by the error on queries that were left out.
        explained: Share of the rewards' variance explained on those; 0 where there is one query.
    """

    weights: Values
    intercept: float
    penalty: float
    explained: float


def fit_expected(features: Matrix, slates: Slates) -> Expected:
    """Ridge regression whose penalty is chosen by cross-validation over queries.

    Args:
        features: Of all candidates, ``(n, p, f)``.
        slates: What was shown, and what it earned.
    """
    inputs = summed(features, slates)
    scale = inputs.std(axis=0) + 1e-9
    inputs = inputs / scale
    queries, number_of = np.unique(slates.rows, return_inverse=True)
    fold = number_of.reshape(-1) % _FOLDS
    errors = {penalty: 0.0 for penalty in PENALTIES}
    for number in range(min(_FOLDS, len(queries))) if len(queries) > 1 else ():
        learn, out = fold != number, fold == number
        for penalty in PENALTIES:
            weights, intercept = _ridge(
                inputs[learn], slates.rewards[learn], slates.weights[learn], penalty
            )
            residuals = slates.rewards[out] - intercept - inputs[out] @ weights
            errors[penalty] += float(slates.weights[out] @ residuals**2)
    penalty = min(errors, key=lambda one: (errors[one], -one))
    weights, intercept = _ridge(inputs, slates.rewards, slates.weights, penalty)
    mean = np.average(slates.rewards, weights=slates.weights)
    whole = float(slates.weights @ (slates.rewards - mean) ** 2)
    explained = 1.0 - errors[penalty] / whole if whole > 0 and len(queries) > 1 else 0.0
    return Expected(weights / scale, intercept, penalty, explained)


def summed(features: Matrix | Table, slates: Slates) -> Table:
    """Discounted sums of what is known of the shown documents, ``(n, p, f)`` -> ``(d, f)``."""
    found = np.zeros((len(slates), features.shape[2]))
    for rank, discount in enumerate(DISCOUNTS):
        place = slates.places[:, rank]
        known = place >= 0
        found[known] += discount * features[slates.rows[known], place[known]]
    return found


def _ridge(inputs: Table, rewards: Values, weights: Values, penalty: float) -> tuple[Values, float]:
    mean_input = np.average(inputs, axis=0, weights=weights)
    mean_reward = float(np.average(rewards, weights=weights))
    centred = inputs - mean_input
    gram = (centred * weights[:, None]).T @ centred
    gram[np.diag_indices_from(gram)] += penalty
    found = np.linalg.solve(gram, (centred * weights[:, None]).T @ (rewards - mean_reward))
    return found, mean_reward - float(mean_input @ found)
