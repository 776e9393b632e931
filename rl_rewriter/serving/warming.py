"""What the first request would have to wait for, done before it."""

from __future__ import annotations

from rl_rewriter.errors import ServingError
from rl_rewriter.retrieval.protocols import LexicalSource, Retriever
from rl_rewriter.serving.guard import Guard
from rl_rewriter.serving.policies import PolicyInUse
from rl_rewriter.text.alike import ask_alike
from rl_rewriter.types import Needs, Rewrite

_WORDS = "warm up"


def warmed(guard: Guard, policies: PolicyInUse, retriever: Retriever | None) -> bool:
    """Choose a policy and search once in each way; nothing is decided, logged or counted.

    Args:
        guard: What all requests share.
        policies: Who decides.
        retriever: What will be searched; None for nothing.

    Returns:
        Whether all of it worked.

    Raises:
        ServingError: In strict mode, where something failed.
    """
    try:
        decider = policies.chosen("").decider
        if retriever is not None:
            blends = () if decider is None else decider.checkpoint.blends
            _searched(retriever, any(view.alike for blend in blends for view in blend.views))
    except Exception as error:
        if guard.config.strict:
            raise ServingError("evidence") from error
        guard.warnings.warn("warming up failed", error)
        return False
    return True


def _searched(retriever: Retriever, alike: bool) -> None:
    retriever.search([Rewrite((_WORDS,))], k=1)
    if Needs.LEXICAL in retriever.offers and isinstance(retriever, LexicalSource):
        retriever.lexical([_WORDS, *([ask_alike(_WORDS)] if alike else [])], k=1)
