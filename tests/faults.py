"""Faults to inject: actions that fail, stall or make rubbish, and what they stall on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from rl_rewriter.actions.keep import Keep
from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.retrieval.protocols import Retriever
from rl_rewriter.types import Evidence, Needs, Rewrite
from tests.support import fixed_checkpoint

PATIENCE = 30.0
"""Seconds after which a stalled thread goes on, should a test forget to let it."""


@dataclass(frozen=True)
class Faulty:
    """An action whose rewrite is whatever a function makes of the evidence."""

    make: Callable[[Evidence], Any] = field(hash=False)
    name: str = "faulty"
    strength: float = 1.0
    needs: Needs = Needs.NOTHING

    def rewrite(self, evidence: Evidence) -> Rewrite | None:
        made: Rewrite | None = self.make(evidence)
        return made


class Stall:
    """Holds whoever calls it until it is let go."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self._let_go = threading.Event()

    def __call__(self, *_: Any, **__: Any) -> None:
        self.reached.set()
        self._let_go.wait(PATIENCE)

    def let_go(self) -> None:
        self._let_go.set()


def faulty_checkpoint(
    retriever: Retriever, make: Callable[[Evidence], Any], **settings: Any
) -> Checkpoint:
    """A policy that takes the faulty action, or keeps the query where that is masked."""
    space = ActionSpace((Keep(), Faulty(make, **settings)))
    return fixed_checkpoint(retriever, "faulty", actions=space)


def with_policy(checkpoint: Checkpoint, policy: Any) -> Checkpoint:
    """The same checkpoint with a policy that is broken on purpose."""
    policy.n_actions, policy.n_features = len(checkpoint.actions), checkpoint.policy.n_features
    return replace(checkpoint, policy=policy)
