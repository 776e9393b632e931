"""What is served of a blend where only so many queries may fall below keep."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rl_rewriter.actions.blend_gate import BlendGate
from rl_rewriter.policies.protocols import Values
from rl_rewriter.training.blend.folds import GroupFolds
from rl_rewriter.training.blend.gate import Flags, fit_gate, likely, share_moved
from rl_rewriter.training.blend.ladder import Rung
from rl_rewriter.training.blend.learner import Learner
from rl_rewriter.training.blend.objective import keep_weights
from rl_rewriter.training.blend.trial import Trial
from rl_rewriter.training.hurt import hurt_share, is_hurt

_STRENGTHS = (1.0, 0.7, 0.5, 0.3, 0.1)


@dataclass(frozen=True, eq=False)
class Cautious:
    """What is served, within the limit.

    Attributes:
        rung: What that is.
        values: Cross-fitted values of it, prices paid, ``(n,)``.
        hurt: Share of queries below keep, whatever they cost.
        is_open: Where something else than keep is served, ``(n,)``.
        strength: Share of the blend where it is served; the rest is keep. 0 for keep itself.
        gate: What decides that; None where it is the same for every query.
        told: What became of the limit; "" where none was set.
    """

    rung: Rung
    values: Values
    hurt: float
    is_open: Flags
    strength: float
    gate: BlendGate | None = None
    told: str = ""


def with_caution(learner: Learner, trial: Trial, rung: Rung, folds: GroupFolds) -> Cautious:
    """What to serve of what stands, and to which queries.

    A single action is served to all queries; where it hurts too many, weights that are the same for
    all take its place, since these can be gated. A blend is weakened only where no gate is clearly
    worth it at full strength: those who are hurt are mostly hurt by a little of it, too.

    Args:
        learner: What blends were fitted by; its settings name the limit.
        trial: What was tried.
        rung: What stands without a limit.
        folds: The division.
    """
    keep, limit = trial.values["keep"], learner.config.hurt_limit
    if limit is None:
        return _everywhere(trial, rung)
    asked = _asked(limit)
    if rung in ("keep", "single"):
        found = singles_with_caution(trial, rung, folds, limit)
        if found.rung == rung:
            return found
        asked = _single_hurts(limit, hurt_share(trial.values["single"], keep))
        rung = "same_for_all"
    for strength in _STRENGTHS if rung in trial.blends else ():
        found = _held(learner, trial, rung, folds, limit, strength)
        gains = found.values - keep
        needed = learner.config.ladder.same_for_all * folds.standard_error(gains)
        if gains.mean() > max(needed, 0.0):
            return replace(found, told=f"{asked}: {_in_words(found)}")
    told = (
        f"{asked}: keep is served, as nothing that clearly gains stays a standard error below that"
    )
    return replace(_everywhere(trial, "keep"), told=told)


def singles_with_caution(
    trial: Trial, rung: Rung, folds: GroupFolds, limit: float | None
) -> Cautious:
    """Keep, or a single action where it hurts few enough: nothing tells beforehand whom."""
    found = _everywhere(trial, rung)
    if limit is None:
        return found
    if rung == "keep":
        return replace(found, told=f"{_asked(limit)}: keep is served")
    if holds(found.hurt, folds.n_groups, limit):
        return replace(found, told=f"{_asked(limit)}: {found.hurt:.1%} do")
    told = f"{_single_hurts(limit, found.hurt)}: keep is served"
    return replace(_everywhere(trial, "keep"), told=told)


def holds(hurt: float, n_groups: int, limit: float | None) -> bool:
    """Whether a share of queries below keep is within the limit, a standard error included."""
    return limit is None or likely(hurt, n_groups) <= limit


def _held(
    learner: Learner, trial: Trial, rung: Rung, folds: GroupFolds, limit: float, strength: float
) -> Cautious:
    """A blend of some strength, behind a gate where it needs one; keep where no gate will do."""
    keep, weights, judge = trial.values["keep"], trial.blends[rung].weights, learner.judge
    values = trial.blends[rung].values
    if strength < 1.0:
        weights = (1.0 - strength) * keep_weights(*weights.shape) + strength * weights
        values = judge.values(np.arange(len(weights)), weights)
    paid, below = values - learner.config.price, is_hurt(values, keep)
    is_open, gate = np.ones(len(keep), dtype=np.bool_), None
    if not holds(float(below.mean()), folds.n_groups, limit):
        states, moved = judge.everything.states.numpy(), share_moved(judge, weights)
        found = fit_gate(states, paid - keep, below, moved, folds, limit)
        if found is None:
            return _everywhere(trial, "keep")
        is_open, gate = found.is_open, found.gate
    hurt = float((below & is_open).mean())
    return Cautious(rung, np.where(is_open, paid, keep), hurt, is_open, strength, gate)


def _everywhere(trial: Trial, rung: Rung) -> Cautious:
    """A rung as it is."""
    keep, values = trial.values["keep"], trial.values[rung]
    is_blend = rung in trial.blends
    hurt = hurt_share(trial.blends[rung].values if is_blend else values, keep)
    is_open = np.full(len(keep), rung != "keep")
    return Cautious(rung, values, hurt, is_open, strength=float(rung != "keep"))


def _asked(limit: float) -> str:
    return f"at most {100 * limit:g}% of the queries may fall below keep"


def _single_hurts(limit: float, hurt: float) -> str:
    return f"{_asked(limit)}, and the best single action hurts {hurt:.1%}"


def _in_words(found: Cautious) -> str:
    strength = f" at strength {found.strength:g}" if found.strength < 1.0 else ""
    where = "to every query"
    if found.gate is not None:
        where = (
            f"where its predicted advantage over keep is at least {found.gate.least:.4f}, to "
            f"{found.is_open.mean():.0%} of the queries"
        )
    return f"the blend is served{strength} {where}; {found.hurt:.1%} are below keep"
