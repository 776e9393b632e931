"""Which rewrites are told as BM25 with words spelt alike."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from rl_rewriter.actions.words import WordsAlike
from rl_rewriter.benchmark.spelt_alike import counts_alike
from rl_rewriter.text.alike import ask_alike
from rl_rewriter.types import Needs, Query, Rewrite
from tests.support import even_blend

QUERY = Query("refunded money")
ALIKE = Rewrite(
    texts=(QUERY.text,),
    lexical_weight=0.5,
    lexical_texts=(ask_alike(QUERY.text),),
    lexical_shares=(1.0,),
)


@dataclass(frozen=True)
class Own(WordsAlike):
    """An action of someone's own that needs BM25 alone, too."""

    strength: float = 0.5


@pytest.mark.parametrize("action", [WordsAlike(), WordsAlike(0.5), Own()])
def test_an_action_over_bm25_alone_counts_them(action: WordsAlike) -> None:
    assert counts_alike(action, QUERY, ALIKE)


def test_a_learned_blend_is_fused_whatever_it_asks_for() -> None:
    blend = even_blend(~Needs.SPELLING & ~Needs.HISTORY, 3)
    assert not counts_alike(blend, QUERY, ALIKE)


@pytest.mark.parametrize(
    "other",
    [
        Rewrite.keep(QUERY),
        replace(ALIKE, lexical_texts=(QUERY.text,)),
        replace(ALIKE, lexical_texts=(ask_alike("other words"),)),
        replace(ALIKE, vector=np.ones(2, dtype=np.float32)),
    ],
)
def test_other_rewrites_are_told_as_they_were(other: Rewrite) -> None:
    assert not counts_alike(WordsAlike(), QUERY, other)
