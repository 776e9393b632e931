"""Names of the arms that aren't single actions, in records and files of a run."""

from __future__ import annotations

from rl_rewriter.actions.base import KEEP as KEEP

RANDOM, BEST_FIXED, POLICY, ORACLE = "random", "best_fixed", "policy", "oracle"
