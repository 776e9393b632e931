"""What the first request would have to wait for, done before it."""

from __future__ import annotations

from rl_rewriter.errors import ServingError
from rl_rewriter.policies.checkpoint import Checkpoint
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
            _searched(retriever, decider is not None and _looks_at_spelling(decider.checkpoint))
    except Exception as error:
        if guard.config.strict:
            raise ServingError("evidence") from error
        guard.warnings.warn("warming up failed", error)
        return False
    return True


def _looks_at_spelling(checkpoint: Checkpoint) -> bool:
    is_viewed = any(view.alike for blend in checkpoint.blends for view in blend.views)
    return is_viewed or Needs.SPELLING in checkpoint.actions.needs


def _searched(retriever: Retriever, alike: bool) -> None:
    found = Rewrite((_WORDS,))
    if alike and Needs.SPELLING in retriever.offers:
        found = Rewrite(
            texts=(_WORDS,),
            lexical_weight=1.0,
            lexical_texts=(ask_alike(_WORDS),),
            lexical_shares=(1.0,),
        )
    retriever.search([found], k=1)
    if Needs.LEXICAL in retriever.offers and isinstance(retriever, LexicalSource):
        retriever.lexical([_WORDS, *([ask_alike(_WORDS)] if alike else [])], k=1)
