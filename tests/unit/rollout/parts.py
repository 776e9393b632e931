"""Small policies, clocks that are set by hand, and logs of rollouts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.rollout.registry import PolicyRegistry
from rl_rewriter.rollout.state import Rollout
from rl_rewriter.rollout.tags import BASELINE, CANARY, tags_of
from tests.logged import decision, feedback
from tests.unit.evaluation.off_policy.logs import policy_that_likes


def policy(number: int = 0) -> Checkpoint:
    """Policies that are all different."""
    return policy_that_likes(1, strength=1.0 + number)


class Clock:
    """Stands still until it is set."""

    def __init__(self, now: float = 1_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def registry_of(folder: Path, n: int = 3, **settings: Any) -> tuple[PolicyRegistry, Sequence[str]]:
    """A registry that holds ``n`` policies, and their versions."""
    registry = PolicyRegistry(folder, who="tester", **settings)
    return registry, [registry.add(policy(number)) for number in range(n)]


def served(
    rollout: Rollout,
    rewards: Sequence[float],
    *,
    baseline: str | None = None,
    gain: float = 0.0,
    begin: float = 0.0,
    seed: int = 0,
    name: str = "d",
) -> Iterator[dict[str, Any]]:
    """Decisions a second apart with their feedback; the candidate's earn ``gain`` more."""
    rng = np.random.default_rng(seed)
    for number, reward in enumerate(rewards):
        is_candidate = bool(rng.random() < rollout.share)
        version, stage = (rollout.version, CANARY) if is_candidate else (baseline, BASELINE)
        time = begin + number
        tags = dict(tags_of(rollout, version, stage))
        yield decision(f"{name}{number}", time=time, tags=tags)
        earned = reward + gain * is_candidate
        yield feedback(f"{name}{number}", earned, time=time + 1.0)
