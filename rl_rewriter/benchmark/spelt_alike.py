"""Whether words spelt alike are all that a rewrite adds to BM25, so that people are told so."""

from __future__ import annotations

from rl_rewriter.actions.base import Action
from rl_rewriter.text.alike import ask_alike
from rl_rewriter.types import Needs, Query, Rewrite


def counts_alike(action: Action, query: Query, rewrite: Rewrite) -> bool:
    """Whether BM25 alone scores the query, and beside it the same words with those spelt alike.

    A learned blend may ask for such words too, but its rankings are fused: what tells is that the
    action needs BM25 alone.

    Args:
        action: What was chosen.
        query: What was asked.
        rewrite: What the action made of it.
    """
    is_alone = Needs.SPELLING in action.needs and rewrite.vector is None
    return is_alone and rewrite.lexical_texts == (ask_alike(query.text),)
