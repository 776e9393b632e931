"""Draws the weights of a learned blend, and tells with what density."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from rl_rewriter.actions.base import Action
from rl_rewriter.actions.blend import LearnedBlend
from rl_rewriter.actions.blend_logits import weights_of
from rl_rewriter.actions.views import look
from rl_rewriter.policies.gaussian import GaussianBlend
from rl_rewriter.types import Evidence, Rewrite


@dataclass(frozen=True)
class CarriedOut:
    """What became of an action.

    Attributes:
        rewrite: What it searches; None where it has nothing to do for this query.
        weights: Drawn weight of every view of a blend, 0 for those that the query doesn't have;
            empty where none were drawn.
        log_density: Log-density of their logits
            (:class:`rl_rewriter.policies.gaussian.GaussianLogits`); None where none were drawn.
    """

    rewrite: Rewrite | None
    weights: Mapping[str, float] = field(default_factory=dict)
    log_density: float | None = None


@dataclass(frozen=True)
class Drawing:
    """How weights are drawn for one request.

    Attributes:
        sigma: Standard deviation of the logits, above 0.
        rng: Where they are drawn from.
    """

    sigma: float
    rng: np.random.Generator


def carried_out(action: Action, evidence: Evidence, drawing: Drawing | None) -> CarriedOut:
    """Rewrite one query by an action, with drawn weights where it is a blend and they are drawn."""
    if drawing is None or not isinstance(action, LearnedBlend):
        return CarriedOut(action.rewrite(evidence))
    seen = look(evidence, action.views)
    policy = GaussianBlend(action.head, drawing.sigma)
    distribution = policy.distribution(action.state(evidence)[None], seen.present[None])
    logits = distribution.sample(drawing.rng)
    weights = dict(zip(action.head.views, weights_of(logits)[0].tolist(), strict=True))
    rewrite = action.rewrite_by(evidence, weights, seen)
    return CarriedOut(rewrite, weights, float(distribution.log_prob(logits)[0]))
