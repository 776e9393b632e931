"""Estimates what every candidate earned, where only rewards of whole lists are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rl_rewriter.errors import InputError
from rl_rewriter.rewards.reward import Table
from rl_rewriter.training.blend.pools import Pools
from rl_rewriter.training.credit.document_features import document_features
from rl_rewriter.training.credit.posterior import posterior
from rl_rewriter.training.credit.regression import Expected, fit_expected, summed
from rl_rewriter.training.credit.slates import Slates


@dataclass(frozen=True, eq=False)
class Credit:
    """What documents are thought to add to a reward where they stand first.

    Attributes:
        values: One a candidate, ``(n, p)``, at least 0, in units of the reward.
        base: What a list's credit lacks of its reward on average: lists of documents without any
            are worth it.
        explained: Share of the rewards' variance that documents' features explain, on queries that
            were left out; below 0 where the mean would be nearer.
        own_explained: Share that is explained with the query's other rewards known, likewise.
        model: What is expected of documents by their features, of rewards in units of ``span``.
        span: The lowest reward, and how far above it the highest one is.
        views: What features speak of.
    """

    values: Table
    base: float
    explained: float
    own_explained: float
    model: Expected
    span: tuple[float, float]
    views: tuple[str, ...]


def assign_credit(pools: Pools, slates: Slates, known: Credit | None = None) -> Credit:
    """Split rewards of lists among their documents.

    A reward is taken for ``b + sum_k c_k / log2(k + 1)``, with ``c_k`` the credit of the document
    at rank ``k``: rewards of lists add up over their documents (the linearity of slates in
    Swaminathan et al., 2017, arXiv 1605.04812), as DCG does. What is expected of a document by how
    the views see it is learned over all queries; the rewards of its own query then correct it.

    Args:
        pools: Candidates of ``n`` queries; their grades are not looked at.
        slates: Decisions about some of them.
        known: Credit of other queries: where it is of the same views, what is expected of documents
            is taken from there, and only corrected by these decisions.

    Raises:
        InputError: There are no decisions, or all earned the same.
    """
    merged = slates.merged()
    if not len(merged) or float(np.ptp(merged.rewards)) <= 0.0:
        raise InputError("no credit can be assigned: there are no rewards, or all are the same")
    lowest, whole = float(slates.rewards.min()), float(np.ptp(slates.rewards))
    if known is not None and known.views != pools.views:
        known = None
    if known is not None:
        lowest, whole = known.span
    scaled = replace(merged, rewards=(merged.rewards - lowest) / whole)
    features = document_features(pools)
    model = fit_expected(features, scaled) if known is None else known.model
    expected = model.credit(features) * pools.mask
    found, error = posterior(expected, scaled, model.intercept)
    values = np.clip(found, 0.0, 1.0) * pools.mask
    left = scaled.rewards - summed(values, scaled)
    base = float(np.average(left, weights=scaled.weights))
    mean = np.average(scaled.rewards, weights=scaled.weights)
    variance = float(np.average((scaled.rewards - mean) ** 2, weights=scaled.weights))
    return Credit(
        values=values * whole,
        base=lowest + whole * base,
        explained=model.explained,
        own_explained=1.0 - error / variance,
        model=model,
        span=(lowest, whole),
        views=pools.views,
    )


def judged_by(pools: Pools, credit: Credit) -> Pools:
    """Pools graded by credit instead of judgements, to be judged by DCG."""
    gains = credit.values.astype(np.float32)
    return replace(
        pools,
        gains=gains,
        ideal=-np.sort(-gains.astype(np.float64), axis=1),
        n_relevant=(gains > 0).sum(axis=1).astype(np.float64),
    )


def grades_of(
    pools: Pools, credit: Credit, query_ids: Sequence[str]
) -> dict[str, dict[str, float]]:
    """The same by the ids of queries and documents, for rankings from elsewhere."""
    return {
        id_: {
            pools.documents[pools.candidates[row, place]]: float(credit.values[row, place])
            for place in np.flatnonzero(credit.values[row] > 0)
        }
        for row, id_ in enumerate(query_ids)
    }
