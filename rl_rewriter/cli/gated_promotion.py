"""Asks the gate about a policy of a registry before it is promoted."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from rl_rewriter.cli.off_policy import LogOptions

if TYPE_CHECKING:
    from rl_rewriter.evaluation.off_policy.gate_config import GateConfig
    from rl_rewriter.evaluation.off_policy.verdict import Verdict
    from rl_rewriter.rollout.registry import PolicyRegistry
    from rl_rewriter.rollout.state import RegistryState


def verdict_for(
    registry: PolicyRegistry,
    version: str,
    log: Path,
    config: GateConfig,
    default_reward: float | None,
    seed: int,
) -> Verdict:
    """Judge a policy against what would be its baseline.

    Args:
        registry: Holds both.
        version: The candidate.
        log: A decision log with propensities and feedback.
        config: Thresholds of the gate.
        default_reward: Reward of decisions without feedback; None leaves them out.
        seed: Seed of the folds of the reward model.

    Raises:
        InputError: The log can't be used.
        CheckpointError: A policy is damaged.
    """
    from rl_rewriter.evaluation.off_policy.from_log import JudgedLog
    from rl_rewriter.evaluation.off_policy.gate import Baseline, gate
    from rl_rewriter.logs.config import SECONDS_A_DAY

    rival = _baseline_of(registry.state(), version)
    candidate = registry.load(version)
    known = [candidate] if rival is None else [candidate, registry.load(rival)]
    bandit, read, _ = LogOptions(logs=log, default_reward=default_reward).read(known)
    judged = JudgedLog.of(bandit, known, seed=seed)
    return gate(
        {version: judged.sample_of(candidate)},
        Baseline("keep", judged.keep()) if rival is None else judged.baseline(rival, known[-1]),
        config,
        age_days=(time.time() - float(bandit.times.max())) / SECONDS_A_DAY,
        read=read,
    )[version]


def _baseline_of(state: RegistryState, version: str) -> str | None:
    """What sessions outside the share would get; None is keep."""
    current = state.current
    is_served = current.is_full and current.version != version
    return current.version if is_served else state.baseline
