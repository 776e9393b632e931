"""What is served of a blend where only so many queries may fall below keep."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rl_rewriter.actions.blend_gate import BlendGate
from rl_rewriter.training.blend.gate import fit_gate, share_moved
from rl_rewriter.training.blend.learner import Learner
from rl_rewriter.training.blend.objective import keep_weights
from rl_rewriter.training.blend.trial import BlendTrial
from rl_rewriter.training.ladder.climb import Rung
from rl_rewriter.training.ladder.config import LadderConfig
from rl_rewriter.training.ladder.folds import GroupFolds
from rl_rewriter.training.ladder.hurt import holds, is_hurt
from rl_rewriter.training.ladder.served import (
    Served,
    asked_for,
    everywhere,
    single_hurts,
    single_within,
)

_STRENGTHS = (1.0, 0.7, 0.5, 0.3, 0.1)


@dataclass(frozen=True, eq=False)
class Cautious:
    """What is served, within the limit.

    Attributes:
        served: A rung, with what it is worth so.
        gate: What decides where a blend is served; None where it is the same for every query.
    """

    served: Served
    gate: BlendGate | None = None


def with_caution(
    learner: Learner, trial: BlendTrial, rung: Rung, folds: GroupFolds, config: LadderConfig
) -> Cautious:
    """What to serve of what stands, and to which queries.

    A single action is served to all queries; where it hurts too many, weights that are the same for
    all take its place, since these can be gated. A blend is weakened only where no gate is clearly
    worth it at full strength: those who are hurt are mostly hurt by a little of it, too.

    Args:
        learner: What blends were fitted by.
        trial: What was tried.
        rung: What stands without a limit.
        folds: The division.
        config: Names the limit, and how clear a gain has to be.
    """
    rungs, limit = trial.rungs, config.hurt_limit
    if limit is None:
        return Cautious(everywhere(rungs, rung))
    asked = asked_for(limit)
    if rung in ("keep", "single"):
        found = single_within(rungs, rung, folds, limit)
        if found.rung == rung:
            return Cautious(found)
        asked = single_hurts(limit, rungs.hurt["single"], folds)
        rung = "same_for_all"
    for strength in _STRENGTHS if rung in trial.blends else ():
        held = _held(learner, trial, rung, folds, limit, strength)
        gains = held.served.values - rungs.values["keep"]
        needed = config.same_for_all * folds.standard_error(gains)
        if gains.mean() > max(needed, 0.0):
            return replace(held, served=replace(held.served, told=f"{asked}: {_in_words(held)}"))
    told = (
        f"{asked}: keep is served, as nothing that clearly gains stays a standard error below that"
    )
    return Cautious(replace(everywhere(rungs, "keep"), told=told))


def _held(
    learner: Learner,
    trial: BlendTrial,
    rung: Rung,
    folds: GroupFolds,
    limit: float,
    strength: float,
) -> Cautious:
    """A blend of some strength, behind a gate where it needs one; keep where no gate will do."""
    keep, judge = trial.rungs.values["keep"], learner.judge
    weights, values = trial.blends[rung].weights, trial.blends[rung].values
    if strength < 1.0:
        weights = (1.0 - strength) * keep_weights(*weights.shape) + strength * weights
        values = judge.values(np.arange(len(weights)), weights)
    paid, below = values - learner.config.price, is_hurt(values, keep)
    is_open, gate = np.ones(len(keep), dtype=np.bool_), None
    if not holds(float(below.mean()), folds.n_groups, limit):
        states, moved = judge.everything.states.numpy(), share_moved(judge, weights)
        found = fit_gate(states, paid - keep, below, moved, folds, limit)
        if found is None:
            return Cautious(everywhere(trial.rungs, "keep"))
        is_open, gate = found.is_open, found.gate
    hurt = float((below & is_open).mean())
    return Cautious(Served(rung, np.where(is_open, paid, keep), hurt, is_open, strength), gate)


def _in_words(found: Cautious) -> str:
    served = found.served
    strength = f" at strength {served.strength:g}" if served.strength < 1.0 else ""
    where = "to every query"
    if found.gate is not None:
        where = (
            f"where its predicted advantage over keep is at least {found.gate.least:.4f}, to "
            f"{served.is_open.mean():.0%} of the queries"
        )
    return f"the blend is served{strength} {where}; {served.hurt:.1%} are below keep"
