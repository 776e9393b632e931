"""Which decisions something can be learned from by weighting."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import fsum
from typing import Any, Literal

from rl_rewriter.logs.drawn import problem_of_draw
from rl_rewriter.logs.schema import Problem

Include = Literal["untrained", "deterministic"]
PROBABILITY_TOLERANCE = 1e-3
"""What logged probabilities may be off by, having been rounded."""

_FALLBACK = Problem("fallback", "")
_UNTRAINED = Problem("untrained", "")
_DETERMINISTIC = Problem("deterministic", "")


def why_not_usable(record: Mapping[str, Any], include: Collection[Include] = ()) -> Problem | None:
    """Why a decision tells nothing about what other actions would have brought; None where it does.

    A fallback isn't the policy's choice. A decision of an untrained rewriter, or one that took the
    most probable action without drawing, was certain: there is no chance by which to weigh it. Both
    can be asked for, to predict rewards from. Where the probabilities contradict the action or the
    propensity, or drawn weights their density, there is a sentence to tell.

    Args:
        record: A valid decision record.
        include: Kinds of certain decisions that are wanted all the same.
    """
    reason = record.get("reason") or ""
    if reason.startswith("fallback"):
        return _FALLBACK
    if reason == "untrained" and "untrained" not in include:
        return _UNTRAINED
    contradiction = problem_of_draw(record)
    if contradiction is not None:
        return contradiction
    distribution, propensity = record.get("probabilities"), record.get("propensity")
    if not distribution:
        if propensity is not None and propensity > 1.0 + PROBABILITY_TOLERANCE:
            return Problem("propensity", f"has a propensity of {propensity}, which is above 1")
        return None
    taken = distribution.get(record["action"], 0.0)
    if taken <= 0.0:
        return Problem("impossible", f"took {record['action']!r}, whose probability is 0")
    total = fsum(distribution.values())
    if abs(total - 1.0) > PROBABILITY_TOLERANCE:
        return Problem("probabilities", f"has probabilities that sum to {total:.6g}, not 1")
    if propensity is not None and abs(propensity - taken) > PROBABILITY_TOLERANCE * taken:
        return Problem(
            "propensity", f"has propensity {propensity:.6g} beside a probability of {taken:.6g}"
        )
    is_certain = taken >= 1.0 and len(distribution) > 1 and not record.get("explored")
    if is_certain and reason != "untrained" and "deterministic" not in include:
        return _DETERMINISTIC
    return None
