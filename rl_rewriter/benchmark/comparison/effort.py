"""What serving an arm makes a chain do: searches, embeddings, calls of a language model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.envs.outcomes import Outcomes
from rl_rewriter.policies.protocols import Mask
from rl_rewriter.rewards.reward import EFFORT, RewardConfig, Table
from rl_rewriter.types import Needs

_FIRST = Needs.FIRST_RANKING | Needs.FIRST_TEXTS | Needs.FIRST_VECTORS
_LEXICAL = Needs.LEXICAL | Needs.LEXICAL_VECTORS


@dataclass(frozen=True, eq=False)
class Efforts:
    """What each action does on each query, ``(n, m)`` each.

    Attributes:
        searches: Searches in all: for evidence, and of what is sent.
        embedded: Texts embedded beside the query.
        llm_calls: Calls of a language model.
        cost: Price in units of the metric.
    """

    searches: Table
    embedded: Table
    llm_calls: Table
    cost: Table


def efforts_of(
    outcomes: Outcomes, actions: ActionSpace, reward: RewardConfig, looked_at: Needs = Needs.NOTHING
) -> Efforts:
    """Count what serving takes.

    An action looks at what it needs; a kept query is served from the first ranking where that was
    looked at, and is searched otherwise.

    Args:
        outcomes: What every action did.
        actions: The same actions.
        reward: Prices.
        looked_at: What is looked at before any action is chosen: what a policy's features need.
    """
    rewritten, own, embedded, llm_calls = (
        outcomes.effort[..., EFFORT.index(name)].astype(np.float64)
        for name in ("rewritten", "searches", "embedded", "llm_calls")
    )
    first = _looks(outcomes, actions, looked_at, _FIRST)
    lexical = _looks(outcomes, actions, looked_at, _LEXICAL)
    sent = np.where(rewritten > 0, own, np.where(first, 0.0, 1.0))
    return Efforts(
        searches=sent + first + lexical,
        embedded=embedded,
        llm_calls=llm_calls,
        cost=reward.prices(outcomes.effort),
    )


def _looks(outcomes: Outcomes, actions: ActionSpace, looked_at: Needs, kind: Needs) -> Mask:
    """Whether a ranking of this kind is looked at, ``(n, m)``: an impossible action doesn't."""
    wanted = np.asarray([bool(action.needs & kind) for action in actions])
    return np.asarray(outcomes.mask & wanted | bool(looked_at & kind))
