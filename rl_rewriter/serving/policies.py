"""The policy in use: one immutable object, replaced as a whole, or assigned for each request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rl_rewriter.actions.base import KEEP
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.policies.decider import Decider
from rl_rewriter.serving.deployment import Assignment, Deployment
from rl_rewriter.serving.reasons import DECIDED, SHADOW, UNTRAINED
from rl_rewriter.types import Rewrite, RewriteDecision

UNASSIGNED = "unassigned"
"""Version in a decision that no policy was assigned to in time."""
_MOST_DECIDERS = 16


@dataclass(frozen=True)
class Chosen:
    """Whose policy decides one request.

    Attributes:
        decider: The policy, ready to decide; None keeps the query.
        tags: What the decision log says of it.
        shadow: It decides, and keep is served.
        reason: Why the query is kept where there is no policy.
    """

    decider: Decider | None
    tags: Mapping[str, Any] = field(default_factory=dict)
    shadow: bool = False
    reason: str = UNTRAINED

    @property
    def version(self) -> str:
        """Version of the policy, "untrained" without one."""
        return UNTRAINED if self.decider is None else self.decider.version

    def served(self, decision: RewriteDecision) -> RewriteDecision:
        """A decision with its tags; keep in its place where the policy is a shadow."""
        tags = dict(self.tags)
        if self.shadow and decision.reason in DECIDED:
            tags |= {
                "shadow_action": decision.action,
                "shadow_version": decision.policy_version,
                "shadow_probability": decision.propensity,
            }
            decision = replace(
                decision,
                rewrite=Rewrite.keep(decision.query),
                action=KEEP,
                strength=0.0,
                propensity=1.0,
                probabilities={KEEP: 1.0},
                policy_name=KEEP,
                reason=SHADOW,
                cost=0.0,
                blends={},
                sigma=0.0,
                weights={},
                log_density=None,
            )
        return replace(decision, tags=tags) if tags else decision


class PolicyInUse:
    """Who decides; threads may share it, and swap it while others decide.

    Args:
        checkpoint: A trained policy.
        deployment: Assigns policies to requests; ``checkpoint`` is then used by none of them.
    """

    def __init__(
        self, checkpoint: Checkpoint | None = None, deployment: Deployment | None = None
    ) -> None:
        self.deployment = deployment
        self.is_missing = False
        """Whether a policy was to be loaded, and couldn't be."""
        self.decider = _decider(checkpoint)
        self._deciders: dict[int, Decider] = {}

    def swap(self, checkpoint: Checkpoint | None) -> None:
        """Decide by another policy from the next request on."""
        self.decider = _decider(checkpoint)
        self.is_missing = False

    @property
    def is_any(self) -> bool:
        """Whether there is a policy to ask, or somebody to ask for one."""
        return self.decider is not None or self.deployment is not None

    @property
    def version(self) -> str:
        """Version of the policy in use, "untrained" without one, "unassigned" before it is."""
        if self.deployment is not None:
            return UNASSIGNED
        return self.decider.version if self.decider is not None else UNTRAINED

    def chosen(self, session: str) -> Chosen:
        """Who decides a request of this session."""
        if self.deployment is None:
            return Chosen(self.decider)
        assigned: Assignment = self.deployment.choose(session)
        checkpoint = assigned.checkpoint
        decider = None if checkpoint is None else self._kept_decider(checkpoint)
        return Chosen(decider, assigned.tags, assigned.shadow, assigned.reason)

    def _kept_decider(self, checkpoint: Checkpoint) -> Decider:
        """The same decider for the same checkpoint: it remembers what it derived from it."""
        found = self._deciders.get(id(checkpoint))
        if found is None or found.checkpoint is not checkpoint:
            if len(self._deciders) >= _MOST_DECIDERS:
                self._deciders = {}
            found = self._deciders[id(checkpoint)] = Decider(checkpoint, warns=False)
        return found

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and deepcopy: objects are other ones there."""
        return {**self.__dict__, "_deciders": {}}


def _decider(checkpoint: Checkpoint | None) -> Decider | None:
    return None if checkpoint is None else Decider(checkpoint, warns=False)
