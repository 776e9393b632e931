"""Learns, for each query of a RAG chain, what to send to the retriever."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rl_rewriter.actions import Action, ActionSpace, default_actions
    from rl_rewriter.caching.config import CacheConfig
    from rl_rewriter.errors import RewriterError
    from rl_rewriter.logs.config import LogConfig
    from rl_rewriter.logs.store import DecisionLog
    from rl_rewriter.policies.exploration import Exploration
    from rl_rewriter.retrieval.protocols import Retriever
    from rl_rewriter.rewards.reward import RewardConfig
    from rl_rewriter.rewriter import RLQueryRewriter
    from rl_rewriter.serving.breaker import BreakerConfig
    from rl_rewriter.serving.events import Served
    from rl_rewriter.serving.limits import Budget
    from rl_rewriter.training.config import FitConfig, ReinforceConfig
    from rl_rewriter.types import (
        Evidence,
        Feedback,
        Filters,
        Needs,
        Query,
        Ranking,
        Rewrite,
        RewriteDecision,
        ScoredDocument,
        Turn,
    )

__version__ = "0.1.0"

_HOME = {
    "Action": "actions",
    "BreakerConfig": "serving.breaker",
    "Budget": "serving.limits",
    "CacheConfig": "caching.config",
    "Served": "serving.events",
    "DecisionLog": "logs.store",
    "Exploration": "policies.exploration",
    "LogConfig": "logs.config",
    "FitConfig": "training.config",
    "Ranking": "types",
    "ReinforceConfig": "training.config",
    "Retriever": "retrieval.protocols",
    "RewardConfig": "rewards.reward",
    "ActionSpace": "actions",
    "default_actions": "actions",
    "RewriterError": "errors",
    "RLQueryRewriter": "rewriter",
    "Evidence": "types",
    "Feedback": "types",
    "Filters": "types",
    "Needs": "types",
    "Query": "types",
    "Rewrite": "types",
    "RewriteDecision": "types",
    "ScoredDocument": "types",
    "Turn": "types",
}

__all__ = [
    "Action",
    "ActionSpace",
    "BreakerConfig",
    "Budget",
    "CacheConfig",
    "DecisionLog",
    "Evidence",
    "Exploration",
    "Feedback",
    "Filters",
    "FitConfig",
    "LogConfig",
    "Needs",
    "Query",
    "RLQueryRewriter",
    "Ranking",
    "ReinforceConfig",
    "Retriever",
    "RewardConfig",
    "Rewrite",
    "RewriteDecision",
    "RewriterError",
    "ScoredDocument",
    "Served",
    "Turn",
    "default_actions",
]


def __getattr__(name: str) -> Any:
    """Import on first use, so that importing the package stays quick."""
    if name not in _HOME:
        raise AttributeError(f"module 'rl_rewriter' has no attribute {name!r}")
    return getattr(import_module(f"rl_rewriter.{_HOME[name]}"), name)
