"""What learning from logs begins with: the log, the actions and the term weights that are known."""

from __future__ import annotations

from pathlib import Path

from rl_rewriter.actions.space import ActionSpace, default_actions
from rl_rewriter.errors import InputError
from rl_rewriter.logs.bandit import LoggedBandit
from rl_rewriter.logs.dataset import dataset
from rl_rewriter.logs.shown import ShownLists, read_shown
from rl_rewriter.logs.store import DecisionLog
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.retrieval.protocols import Retriever
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.types import Needs


def logged(
    log: str | Path | LoggedBandit | None, own: DecisionLog | None, *, with_lists: bool
) -> tuple[LoggedBandit, ShownLists | None]:
    """A log's arrays, and what its decisions asked and showed.

    Args:
        log: A decision log, or its arrays already; ``own`` where None.
        own: The log that is being written.
        with_lists: Whether the latter is wanted; arrays alone don't tell it.

    Raises:
        InputError: There is no log, or nothing in it can be learned from.
    """
    if log is None:
        if own is None:
            raise InputError("name a log: this rewriter has none of its own (log=PATH)")
        log = own.path
    if isinstance(log, LoggedBandit):
        return log, None
    bandit = dataset(log)[0]
    return bandit, read_shown(log, bandit.decision_ids) if with_lists else None


def known_actions(checkpoint: Checkpoint | None, actions: ActionSpace | None) -> ActionSpace:
    """Those of the policy in use, or given ones, and all built-in ones."""
    own = checkpoint.actions if checkpoint is not None else actions
    built_in = default_actions(~Needs.NOTHING)
    if own is None:
        return built_in
    return own.extended(action for action in built_in if action.name not in own.names)


def known_weights(
    checkpoint: Checkpoint | None, retriever: Retriever | None
) -> CollectionStatistics:
    """Term weights of the policy in use, else of the retriever's collection."""
    if checkpoint is not None:
        return checkpoint.statistics
    return retriever.statistics() if retriever is not None else CollectionStatistics()
