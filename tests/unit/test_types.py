"""The records: what they refuse, when they are equal, and that arrays don't break equality."""

from __future__ import annotations

import math
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rl_rewriter.errors import InputError
from rl_rewriter.types import (
    MAX_QUERY_CHARS,
    Filters,
    Query,
    Ranking,
    Rewrite,
    RewriteDecision,
)


@pytest.mark.parametrize("text", [None, 3, b"bytes", ["list"]])
def test_a_query_is_a_string(text: object) -> None:
    with pytest.raises(InputError, match="must be a string, not"):
        Query(text)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "searchable"),
    [
        ("a", True),
        ("退", True),
        ("", False),
        (" \n\t", False),
        ("x" * MAX_QUERY_CHARS, True),
        ("x" * (MAX_QUERY_CHARS + 1), False),
    ],
)
def test_blank_and_overlong_queries_are_not_searchable(text: str, searchable: bool) -> None:
    assert Query(text).is_searchable is searchable


@pytest.mark.parametrize(
    ("texts", "weights"),
    [
        ((), ()),
        (("a",), (0.5, 0.5)),
        (("a", "b"), (0.5, 0.6)),
        (("a", "b"), (1.5, -0.5)),
        (("a", "b"), (math.nan, 1.0)),
        (("a", "b"), (1.0, math.nan)),
        (("a", "b"), (math.inf, -math.inf)),
    ],
)
def test_weights_of_a_rewrite_are_a_mix(texts: tuple[str, ...], weights: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match="weight"):
        Rewrite(texts, weights)


@pytest.mark.parametrize("weight", [-0.1, 1.1, math.nan, math.inf])
def test_lexical_weight_is_a_share(weight: float) -> None:
    with pytest.raises(InputError, match="lexical_weight"):
        Rewrite(("a",), lexical_weight=weight)


def test_blend_goes_from_keep_to_replace() -> None:
    query = Query("q")
    assert Rewrite.blend(query, "t", 0.0) == Rewrite.keep(query) == Rewrite(("q",))
    assert Rewrite.blend(query, "t", 1.0) == Rewrite(("t",))
    assert Rewrite.blend(query, "t", 0.25) == Rewrite(("q", "t"), (0.75, 0.25))
    assert Rewrite.blend(query, "t", 0.25).text == "q"


@given(st.floats(0, 1), st.text(), st.text())
def test_every_strength_gives_a_valid_rewrite(strength: float, text: str, other: str) -> None:
    rewrite = Rewrite.blend(Query(text), other, strength)
    assert math.isclose(sum(rewrite.weights), 1.0)


def test_rewrites_are_equal_by_content_vectors_included() -> None:
    one, same, other = (
        Rewrite(("q",), vector=np.asarray(v, dtype=np.float32)) for v in ([1, 2], [1, 2], [1, 3])
    )
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert one != Rewrite(("q",))
    assert Rewrite(("q",), lexical_weight=0.2) != Rewrite(("q",))


def test_a_rewrite_without_words_is_not_the_query_that_a_hybrid_fuses() -> None:
    query, refusing = Query("q"), Rewrite(("q",), without_words=True)
    assert Rewrite.keep(query).is_the_query(query)
    assert not refusing.is_the_query(query)
    assert refusing != Rewrite.keep(query)
    with pytest.raises(InputError, match="without words has no lexical_weight"):
        Rewrite(("q",), lexical_weight=0.5, without_words=True)


def test_decisions_with_vectors_can_be_compared() -> None:
    def decision(value: float) -> RewriteDecision:
        vector = np.full(3, value, dtype=np.float32)
        return RewriteDecision(
            id="1",
            query=Query("q"),
            rewrite=Rewrite(("q",), vector=vector),
            action="move",
            strength=0.2,
            propensity=1.0,
            probabilities={"move": 1.0},
            preferences={"move": 1.0},
            policy_name="mlp",
            policy_version="v",
            reason="policy",
        )

    assert decision(1.0) == decision(1.0)
    assert decision(1.0) != decision(2.0)


def test_filters_are_equal_whatever_the_order_of_their_keys() -> None:
    one = Filters({"$and": [{"a": 1}, {"b": 2}]}, {"$contains": "x"})
    assert one == Filters(
        MappingProxyType({"$and": [{"a": 1}, {"b": 2}]}).copy(), one.where_document
    )
    assert Filters({"a": 1, "b": 2}) == Filters({"b": 2, "a": 1})
    assert hash(Filters({"a": 1, "b": 2})) == hash(Filters({"b": 2, "a": 1}))
    assert Filters({"a": 1}) != Filters(None, {"a": 1})


def test_filters_that_mean_different_things_are_not_equal() -> None:
    """``True == 1 == 1.0`` in Python, but not in a collection's metadata."""
    filters = [Filters({"a": True}), Filters({"a": 1}), Filters({"a": "1"}), Filters({"a": 1.5})]
    assert len(set(filters)) == len(filters)
    assert filters[0] != filters[1]


def test_top_cuts_every_column() -> None:
    ranking = Ranking(
        ids=("a", "b", "c"),
        scores=np.asarray([3, 2, 1], dtype=np.float32),
        texts=("x", "y", "z"),
        metadatas=({"n": 1}, None, {"n": 3}),
        vectors=np.eye(3, dtype=np.float32),
    )
    top = ranking.top(2)
    assert (top.ids, top.texts, top.metadatas) == (("a", "b"), ("x", "y"), ({"n": 1}, None))
    assert top.scores.tolist() == [3, 2]
    assert top.vectors is not None
    assert top.vectors.shape == (2, 3)
    assert ranking.top(3) is ranking
    assert [d.id for d in top.documents()] == ["a", "b"]
    assert top.documents()[0].metadata == {"n": 1}


def test_documents_of_a_bare_ranking_have_neither_text_nor_metadata() -> None:
    ranking = Ranking(("a",), np.asarray([0.5], dtype=np.float32))
    [document] = ranking.documents()
    assert (document.id, document.score, document.text, document.metadata) == ("a", 0.5, None, None)


@pytest.mark.parametrize(
    ("texts", "shares"),
    [
        (("a",), ()),
        ((), (1.0,)),
        (("a", "b"), (1.0,)),
        (("a", "b"), (0.5, 0.6)),
        (("a", "b"), (1.5, -0.5)),
        (("a", "b"), (math.nan, 1.0)),
    ],
)
def test_shares_of_what_bm25_scores_are_a_mix(
    texts: tuple[str, ...], shares: tuple[float, ...]
) -> None:
    with pytest.raises(InputError, match="share"):
        Rewrite(("q",), lexical_weight=0.5, lexical_texts=texts, lexical_shares=shares)


def test_what_bm25_scores_is_the_first_text_unless_it_is_said() -> None:
    plain = Rewrite(("q", "r"), (0.5, 0.5), lexical_weight=0.5)
    assert plain.words == Rewrite(("q",))
    said = Rewrite(
        ("q",), lexical_weight=0.5, lexical_texts=("a", "b"), lexical_shares=(0.25, 0.75)
    )
    assert said.words == Rewrite(("a", "b"), (0.25, 0.75))


def test_rewrites_that_score_other_words_differ() -> None:
    def fused(*texts: str, share: float = 1.0) -> Rewrite:
        shares = (share, *([1.0 - share] if texts[1:] else []))
        return Rewrite(("q",), lexical_weight=0.5, lexical_texts=texts, lexical_shares=shares)

    different = [
        Rewrite(("q",), lexical_weight=0.5),
        fused("a"),
        fused("a", "b", share=0.5),
        fused("a", "b", share=0.4),
        fused("b", "a", share=0.5),
    ]
    assert len(set(different)) == len(different)
    same = [Rewrite(("q",), lexical_weight=0.5), fused("q")]
    assert len(set(same)) == 1
