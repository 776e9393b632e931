"""What the decision log says about the rollout that a request was part of."""

from __future__ import annotations

from collections.abc import Mapping

from rl_rewriter.rollout.state import KEEP, Rollout

STAGE, VERSION, ROLLOUT, SHARE = (
    "rollout_stage",
    "rollout_version",
    "rollout_id",
    "rollout_share",
)
CANARY, BASELINE, SHADOW, FULL = "canary", "baseline", "shadow", "full"
"""Stages: part of the sessions get the policy; those that don't; it decides for the log alone; all
get it."""


def tags_of(rollout: Rollout, version: str | None, stage: str) -> Mapping[str, str]:
    """Tags of one request.

    Args:
        rollout: What is rolled out.
        version: What this request gets of it; None is keep.
        stage: Which side it is on.
    """
    return {
        STAGE: stage,
        VERSION: version or KEEP,
        ROLLOUT: rollout.id,
        SHARE: repr(rollout.share),
    }
