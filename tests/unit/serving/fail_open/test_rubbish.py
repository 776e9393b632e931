"""Actions, policies and retrievers that fail or give rubbish: keep, under the part's own name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from rl_rewriter import Ranking, Rewrite, RLQueryRewriter
from rl_rewriter.errors import ServingError
from rl_rewriter.policies.categorical import Categorical
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.types import Evidence
from tests.faults import faulty_checkpoint, with_policy
from tests.support import DOCUMENTS, fixed_checkpoint
from tests.unit.serving.fail_open.parts import ASKED, assert_kept, raising


def _exit(evidence: Evidence) -> Rewrite:
    raise SystemExit(3)


RUBBISH: Mapping[str, Callable[[Evidence], Any]] = {
    "raises": raising,
    "a text": lambda evidence: "a rewrite",
    "blank": lambda evidence: Rewrite(("  ",)),
    "number": lambda evidence: Rewrite((7,)),  # type: ignore[arg-type]  # that is the fault
    "nan": lambda evidence: Rewrite(("x",), vector=np.asarray([np.nan], dtype=np.float32)),
    "matrix": lambda evidence: Rewrite(("x",), vector=np.ones((2, 2), dtype=np.float32)),
    "list": lambda evidence: Rewrite(("x",), vector=[1.0]),  # type: ignore[arg-type]  # the fault
}


@pytest.mark.parametrize("what", RUBBISH)
def test_actions_that_fail_or_make_rubbish(lexical: Bm25Retriever, what: str) -> None:
    checkpoint = faulty_checkpoint(lexical, RUBBISH[what])
    assert_kept(RLQueryRewriter(checkpoint=checkpoint), lexical, "fallback:action_error")
    with pytest.raises(ServingError) as caught:
        RLQueryRewriter(checkpoint=checkpoint, strict=True).retrieve(ASKED, retriever=lexical)
    assert caught.value.reason == "action_error"
    assert caught.value.__cause__ is not None
    assert ASKED not in str(caught.value)


def test_an_action_that_asks_for_an_exit(lexical: Bm25Retriever) -> None:
    rewriter = RLQueryRewriter(checkpoint=faulty_checkpoint(lexical, _exit))
    assert_kept(rewriter, lexical, "fallback:adapter")


class OddPolicy:
    """A policy whose distribution is made by a function of the mask."""

    name, version = "odd", "0"

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self.n_actions = self.n_features = 0
        self._make = make

    def distribution(self, states: Any, mask: Any) -> Any:
        return self._make(mask)


@dataclass(frozen=True)
class OutOfRange:
    """Probabilities as they should be, and an action that isn't there."""

    probabilities: Any
    action: int

    def greedy(self) -> Any:
        return np.asarray([self.action])


def _even(mask: Any) -> Any:
    return mask / mask.sum()


ODD: Mapping[str, Callable[[Any], Any]] = {
    "none": lambda mask: None,
    "nan": lambda mask: Categorical(np.full(mask.shape, np.nan)),
    "shape": lambda mask: Categorical(np.ones((1, 1))),
    "sum": lambda mask: Categorical(np.ones(mask.shape)),
    "negative": lambda mask: Categorical(np.asarray([[2.0, -1.0]])),
    "above": lambda mask: OutOfRange(_even(mask), 2),
    "below": lambda mask: OutOfRange(_even(mask), -1),
}


@pytest.mark.parametrize("what", ODD)
def test_policies_that_give_rubbish(lexical: Bm25Retriever, what: str) -> None:
    sound = faulty_checkpoint(lexical, lambda evidence: None)
    checkpoint = with_policy(sound, OddPolicy(ODD[what]))
    assert_kept(RLQueryRewriter(checkpoint=checkpoint), lexical, "fallback:policy_error")


class OddRetriever(Bm25Retriever):
    """Finds what it should for the query alone, once it has been odd about evidence."""

    odd: Callable[[list[Ranking]], Any] | None = None

    def search(self, rewrites: Sequence[Rewrite], **settings: Any) -> Any:
        found = super().search(rewrites, **settings)
        odd, self.odd = self.odd, None
        return found if odd is None else odd(found)


ANSWERS: Mapping[str, Callable[[list[Ranking]], Any]] = {
    "none": lambda found: None,
    "none inside": lambda found: [None],
    "too few": lambda found: [],
    "too many": lambda found: found * 2,
    "nan": lambda found: [replace(found[0], scores=np.full(len(found[0]), np.nan))],
    "text scores": lambda found: [replace(found[0], scores=np.asarray(["a"] * len(found[0])))],
    "short scores": lambda found: [replace(found[0], scores=found[0].scores[:1])],
    "short texts": lambda found: [replace(found[0], texts=("one",))],
}


@pytest.mark.parametrize("what", ANSWERS)
def test_evidence_that_is_rubbish(what: str) -> None:
    retriever = OddRetriever(DOCUMENTS)
    rewriter = RLQueryRewriter(checkpoint=fixed_checkpoint(retriever, "keywords"))
    retriever.odd = ANSWERS[what]
    assert_kept(rewriter, retriever, "fallback:evidence")


@pytest.mark.parametrize("what", ANSWERS)
def test_what_a_rewrite_finds_that_is_rubbish(what: str) -> None:
    retriever = OddRetriever(DOCUMENTS)

    def go_wrong_next(evidence: Evidence) -> Rewrite:
        retriever.odd = ANSWERS[what]
        return Rewrite(("card account",))

    rewriter = RLQueryRewriter(checkpoint=faulty_checkpoint(retriever, go_wrong_next))
    assert_kept(rewriter, retriever, "fallback:search")
