"""What else a query can be searched by, each view by hand."""

from __future__ import annotations

import numpy as np
import pytest

from rl_rewriter.actions.fused_documents import fused_vectors
from rl_rewriter.actions.views import VIEWS, check_views, look, views_for, views_named
from rl_rewriter.errors import CheckpointError
from rl_rewriter.text.history_parts import texts_of_views
from rl_rewriter.types import Needs
from tests.unit.actions.conftest import MakeEvidence, ranking

TALK = (("user", "first"), ("assistant", "an answer"), ("user", "second"))
NAMES = tuple(view.name for view in VIEWS)
DENSE = tuple(view.name for view in VIEWS if view.kind == "dense")
CHROMA = ~Needs.HISTORY


def row(name: str) -> int:
    return NAMES.index(name)


def test_a_query_of_its_own_has_its_vector_and_its_words(evidence: MakeEvidence) -> None:
    seen = look(evidence("refund", vector=[3.0, 4.0]), VIEWS)
    assert [name for name, there in zip(NAMES, seen.present, strict=True) if there] == [
        "query",
        "words",
        "words_alike",
    ]
    assert seen.vectors is not None
    assert seen.vectors[0].tolist() == [3.0, 4.0]
    assert not seen.vectors[1:].any()
    assert seen.texts[row("words")] == "refund"


def test_feedback_is_the_mean_of_the_first_documents(evidence: MakeEvidence) -> None:
    first = ranking(vectors=[[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 9]])
    lexical = ranking(vectors=[[0, 0, 1], [0, 0, 3]])
    seen = look(evidence("refund", vector=[0, 0, 2], first=first, lexical=lexical), VIEWS)
    assert seen.vectors is not None
    # The mean of the first three, as long as the query's own vector.
    half = 2 / np.sqrt(2)
    np.testing.assert_allclose(seen.vectors[row("first_3")], [half, half, 0], rtol=1e-6)
    np.testing.assert_allclose(seen.vectors[row("bm25_3")], [0, 0, 2], rtol=1e-6)


def test_documents_of_both_rankings_are_averaged_from_the_best_on(evidence: MakeEvidence) -> None:
    first = ranking(vectors=[[4, 3, 0], [0, 1, 0], [3, 0, 4], [1, 0, 0], [0, 0, 1], [3, 4, 0]])
    item = evidence("refund", vector=[1, 0, 0], first=first)
    seen = look(item, VIEWS)
    assert seen.vectors is not None
    for name, n in (("fused_3", 3), ("fused_5", 5)):
        mean = fused_vectors(item, n).mean(axis=0)
        assert len(fused_vectors(item, n)) == n
        np.testing.assert_allclose(
            seen.vectors[row(name)], mean / np.linalg.norm(mean), rtol=1e-6, atol=1e-7
        )
    assert not np.allclose(seen.vectors[row("fused_3")], seen.vectors[row("fused_5")])


def test_every_vector_is_as_long_as_the_querys(evidence: MakeEvidence) -> None:
    item = evidence(
        "refund",
        TALK,
        vector=[0.6, 0.8],
        first=ranking(["refund card", "money"], vectors=[[3, 1], [2, 2]]),
        lexical=ranking(["refund"], vectors=[[5, 0]]),
    )
    for text, vector in zip(texts_of_views(item.query), ([4, 0], [0, 7]), strict=True):
        item.part_vectors[text] = np.asarray(vector, dtype=np.float32)
    seen = look(item, VIEWS)
    assert seen.vectors is not None
    assert seen.present.all()
    lengths = np.linalg.norm(seen.vectors, axis=1)
    is_dense = [view.kind == "dense" for view in VIEWS]
    np.testing.assert_allclose(lengths, np.where(is_dense, 1.0, 0.0), rtol=1e-6)


def test_the_conversation_in_front_and_its_last_answer(evidence: MakeEvidence) -> None:
    item = evidence("third", TALK, vector=[1.0, 0.0])
    item.part_vectors["first second third"] = np.asarray([0, 2], dtype=np.float32)
    seen = look(item, VIEWS)
    assert seen.texts[row("history_in_front")] == "first second third"
    assert seen.texts[row("words_of_history")] == "first second third"
    assert seen.texts[row("last_answer")] == "an answer"
    assert seen.vectors is not None
    assert seen.vectors[row("history_in_front")].tolist() == [0.0, 1.0]
    assert seen.present[row("history_in_front")]
    assert not seen.present[row("last_answer")]  # nobody embedded it


def test_without_earlier_turns_there_are_no_views_of_them(evidence: MakeEvidence) -> None:
    seen = look(evidence("third", vector=[1.0, 0.0]), VIEWS)
    for name in ("history_in_front", "last_answer", "words_of_history"):
        assert not seen.present[row(name)]


def test_words_of_the_first_documents_are_added(evidence: MakeEvidence) -> None:
    first = ranking(["refund card order", "refund money card", "other words"])
    seen = look(evidence("refund", vector=[1.0, 0.0], first=first), VIEWS)
    expanded = seen.texts[row("words_expanded")]
    assert expanded.startswith("refund")
    assert "card" in expanded
    assert seen.present[row("words_expanded")]


def test_documents_without_direction_give_no_view(evidence: MakeEvidence) -> None:
    first = ranking(vectors=[[1, 0], [-1, 0]])
    seen = look(evidence("refund", vector=[1.0, 0.0], first=first), VIEWS)
    assert not seen.present[row("first_3")]


def test_a_query_without_a_direction_is_still_its_own_view(evidence: MakeEvidence) -> None:
    seen = look(evidence("refund", vector=[0.0, 0.0]), VIEWS)
    assert seen.present[0]


def test_all_views_over_a_collection_with_vectors_and_words() -> None:
    assert views_for(CHROMA) == VIEWS


@pytest.mark.parametrize(
    ("offers", "names"),
    [
        (Needs.NOTHING, ()),
        (Needs.FIRST_RANKING | Needs.FIRST_TEXTS | Needs.LEXICAL, ()),
        (
            Needs.BLEND | Needs.FIRST_RANKING | Needs.FIRST_TEXTS,
            ("query", "expanded", "history_in_front", "last_answer"),
        ),
        (
            Needs.BLEND | Needs.LEXICAL,
            (
                "query",
                "history_in_front",
                "last_answer",
                "words",
                "words_of_history",
                "words_alike",
                "words_of_history_alike",
            ),
        ),
        (CHROMA & ~(Needs.LEXICAL | Needs.LEXICAL_VECTORS), DENSE[:2] + DENSE[-2:]),
    ],
)
def test_views_follow_what_the_retriever_can_search(offers: Needs, names: tuple[str, ...]) -> None:
    assert tuple(view.name for view in views_for(offers)) == names


def test_where_only_texts_are_searched_views_are_texts(evidence: MakeEvidence) -> None:
    views = views_for(Needs.BLEND | Needs.FIRST_RANKING | Needs.FIRST_TEXTS)
    first = ranking(["refund card order", "refund money card"])
    seen = look(evidence("refund", TALK[:1], first=first), views)
    assert seen.vectors is None
    assert seen.texts[0] == "refund"
    assert seen.texts[1].startswith("refund ")
    assert seen.texts[2] == "first refund"
    assert seen.present.tolist() == [True, True, True, False]


def test_views_by_name() -> None:
    assert views_named(["query", "words"]) == (VIEWS[0], VIEWS[row("words")])


@pytest.mark.parametrize("names", [(), ("words",), ("query", "smell"), ("smell",)])
def test_views_that_are_not_known_are_refused(names: tuple[str, ...]) -> None:
    with pytest.raises(CheckpointError, match="has views that this version doesn't know") as caught:
        check_views(names)
    assert "\n" not in str(caught.value)
