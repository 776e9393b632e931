"""Feedback actions by hand: terms of the first documents, moved vectors, fusion."""

from __future__ import annotations

import numpy as np
import pytest

from rl_rewriter.actions.feedback import ExpandWithTerms, FuseWithBm25, MoveTowardDocuments
from rl_rewriter.errors import InputError
from rl_rewriter.types import Needs, Ranking, Rewrite
from tests.unit.actions.conftest import MakeEvidence, ranking


def test_expansion_ranks_terms_by_documents_times_idf(evidence: MakeEvidence) -> None:
    first = ranking(["card refund money", "card order unheardof", "money the order refund", "late"])
    asked = evidence("refund", first=first)
    # unheardof 1 x ln(202), card 2 x ln(1 + 90.5/10.5), money 2 x ln(1 + 80.5/20.5), order 2 x ln 2
    assert ExpandWithTerms(3, 10).rewrite(asked) == Rewrite(("refund unheardof card money order",))
    assert ExpandWithTerms(3, 2).rewrite(asked) == Rewrite(("refund unheardof card",))


def test_expansion_reads_only_its_documents(evidence: MakeEvidence) -> None:
    asked = evidence("refund", first=ranking(["card", "money"]))
    assert ExpandWithTerms(1, 5).rewrite(asked) == Rewrite(("refund card",))


def test_partial_expansion_is_a_blend(evidence: MakeEvidence) -> None:
    asked = evidence("退款", first=ranking(["快递"]))
    assert ExpandWithTerms(strength=0.3).rewrite(asked) == Rewrite(
        ("退款", "退款 快递"), (0.7, 0.3)
    )


@pytest.mark.parametrize(
    "first",
    [None, ranking([]), ranking(["", "the of"]), ranking(["refund"]), ranking(vectors=[[1]])],
)
def test_no_expansion_where_documents_have_nothing_to_add(
    evidence: MakeEvidence, first: Ranking | None
) -> None:
    assert ExpandWithTerms().rewrite(evidence("refund", first=first)) is None


def test_moving_mixes_query_and_mean(evidence: MakeEvidence) -> None:
    first = ranking(vectors=[[0, 1], [0, 3], [8, 8]])
    lexical = ranking(vectors=[[2, 0]])
    asked = evidence("q", vector=[1, 0], first=first, lexical=lexical)
    one = MoveTowardDocuments("dense", 1, 0.25).rewrite(asked)
    two = MoveTowardDocuments("dense", 2, 0.5).rewrite(asked)
    bm25 = MoveTowardDocuments("bm25", 3, 0.5).rewrite(asked)
    replaced = MoveTowardDocuments("dense", 1, 1.0).rewrite(asked)
    assert one == Rewrite(("q",), vector=np.asarray([0.75, 0.25], dtype=np.float32))
    assert two == Rewrite(("q",), vector=np.asarray([0.5, 1.0], dtype=np.float32))
    assert bm25 == Rewrite(("q",), vector=np.asarray([1.5, 0.0], dtype=np.float32))
    assert replaced == Rewrite(("q",), vector=np.asarray([0.0, 1.0], dtype=np.float32))


@pytest.mark.parametrize("side", ["dense", "bm25"])
def test_no_move_without_vectors(evidence: MakeEvidence, side: str) -> None:
    action = MoveTowardDocuments(side, 1, 0.2)  # type: ignore[arg-type]
    some = ranking(vectors=[[1, 2]])
    assert action.rewrite(evidence("q", first=some, lexical=some)) is None
    assert action.rewrite(evidence("q", vector=[1, 0])) is None
    empty = ranking(["text"])
    assert action.rewrite(evidence("q", vector=[1, 0], first=empty, lexical=empty)) is None


@pytest.mark.parametrize("n_documents", [0, -1, 11])
def test_moving_toward_documents_that_are_not_gathered_is_refused(n_documents: int) -> None:
    with pytest.raises(InputError, match=f"1 to 10, got {n_documents}"):
        MoveTowardDocuments("dense", n_documents, 0.2)


def test_fusion_keeps_text_and_vector(evidence: MakeEvidence) -> None:
    rewrite = FuseWithBm25(0.4).rewrite(evidence("q", vector=[1, 0]))
    vector = np.asarray([1, 0], dtype=np.float32)
    assert rewrite == Rewrite(("q",), vector=vector, lexical_weight=0.4)
    assert FuseWithBm25(0.4).rewrite(evidence("q")) == Rewrite(("q",), lexical_weight=0.4)


def test_what_feedback_needs() -> None:
    texts = Needs.FIRST_RANKING | Needs.FIRST_TEXTS
    assert ExpandWithTerms().needs == texts
    assert ExpandWithTerms(strength=0.3).needs == texts | Needs.BLEND
    dense, bm25 = MoveTowardDocuments("dense", 1, 0.2), MoveTowardDocuments("bm25", 1, 0.2)
    assert dense.needs == Needs.VECTOR | Needs.FIRST_RANKING | Needs.FIRST_VECTORS
    assert bm25.needs == Needs.VECTOR | Needs.LEXICAL | Needs.LEXICAL_VECTORS
    assert FuseWithBm25(0.1).needs == Needs.LEXICAL
    names = [dense.name, bm25.name, ExpandWithTerms(2, 4, 0.3).name, FuseWithBm25(0.1).name]
    assert names == ["move_dense_1@0.2", "move_bm25_1@0.2", "expand_2x4@0.3", "fuse_bm25@0.1"]
