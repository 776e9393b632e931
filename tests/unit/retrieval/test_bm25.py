"""BM25: scores by hand, odd documents and queries, and the folder it is kept in."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rl_rewriter.errors import InputError
from rl_rewriter.retrieval.bm25 import Bm25Index
from rl_rewriter.text.alike import ask_alike
from rl_rewriter.types import MAX_QUERY_CHARS, Rewrite
from tests.support import NASTY_TEXTS

DOCUMENTS = {
    "a": "refund card",
    "b": "card card delivery week",
    "c": "",
    "d": "the of",
    "e": "退款",
}


def index() -> Bm25Index:
    return Bm25Index(tuple(DOCUMENTS), tuple(DOCUMENTS.values()))


def lucene(frequency: int, length: int, n_containing: int) -> float:
    """``ln(1 + (N - n + .5) / (n + .5)) tf / (tf + k1 (1 - b + b |d| / avg))``; empty documents are
    indexed with one placeholder term."""
    average = (2 + 4 + 1 + 1 + 1) / 5
    idf = math.log(1 + (5 - n_containing + 0.5) / (n_containing + 0.5))
    return idf * frequency / (frequency + 1.5 * (1 - 0.75 + 0.75 * length / average))


def test_scores_by_hand() -> None:
    scores = index().scores(Rewrite(("the card",)))
    expected = [lucene(1, 2, 2), lucene(2, 4, 2), 0, 0, 0]
    np.testing.assert_allclose(scores, expected, rtol=1e-5)
    scores = index().scores(Rewrite(("refund 退款",)))
    np.testing.assert_allclose(scores, [lucene(1, 2, 1), 0, 0, 0, lucene(1, 1, 1)], rtol=1e-5)


def test_a_mix_of_texts_is_the_mix_of_their_scores() -> None:
    bm25 = index()
    mixed = bm25.scores(Rewrite(("card", "refund", "week"), (0.5, 0.3, 0.2)))
    parts = [bm25.scores(Rewrite((text,))) for text in ("card", "refund", "week")]
    np.testing.assert_allclose(mixed, 0.5 * parts[0] + 0.3 * parts[1] + 0.2 * parts[2], rtol=1e-6)


def test_words_spelt_alike_count_where_a_text_asks_for_it() -> None:
    documents = {"a": "refunds", "b": "they refunded the card", "c": "delivery", "d": "refund"}
    bm25 = Bm25Index(tuple(documents), tuple(documents.values()))
    asked = Rewrite((ask_alike("refund"),))
    assert set(bm25.top(asked, 10).ids) == {"a", "b", "d"}
    assert bm25.top(asked, 1).ids == ("d",)
    assert bm25.top(Rewrite(("refund",)), 10).ids == ("d",)
    assert bm25.top(asked, 10, np.asarray([True, False, True, False])).ids == ("a",)
    assert bm25.top(Rewrite((ask_alike("reefund"),)), 10).ids == ("d",)
    assert not bm25.scores(Rewrite((ask_alike("weather"),))).any()


def test_a_mix_of_words_as_they_are_and_words_spelt_alike_is_the_mix_of_their_scores() -> None:
    bm25 = index()
    texts = ("card", ask_alike("cards refund"), ask_alike("refunds"))
    mixed = bm25.scores(Rewrite(texts, (0.5, 0.3, 0.2)))
    parts = [bm25.scores(Rewrite((text,))) for text in texts]
    assert all(part.any() for part in parts)
    np.testing.assert_allclose(mixed, 0.5 * parts[0] + 0.3 * parts[1] + 0.2 * parts[2], rtol=1e-6)


def test_only_documents_with_a_word_of_the_query_are_ranked() -> None:
    bm25 = index()
    assert set(bm25.top(Rewrite(("card",)), 10).ids) == {"a", "b"}
    assert bm25.top(Rewrite(("card",)), 1).ids == ("b",)
    assert bm25.top(Rewrite(("退款",)), 10).ids == ("e",)
    assert bm25.top(Rewrite(("weather",)), 10).ids == ()


def test_only_allowed_documents_are_ranked() -> None:
    allowed = np.asarray([True, False, True, True, True])
    assert index().top(Rewrite(("card",)), 10, allowed).ids == ("a",)
    assert index().top(Rewrite(("card",)), 10, ~allowed).ids == ("b",)


@pytest.mark.parametrize("text", ["", "  ", "the of", "?!", "\x00"])
def test_queries_without_a_term_find_nothing(text: str) -> None:
    assert index().top(Rewrite((text,)), 10).ids == ()


@pytest.mark.parametrize("number", range(len(NASTY_TEXTS)))
def test_nasty_texts_can_be_indexed_and_searched(number: int) -> None:
    text = NASTY_TEXTS[number]
    bm25 = Bm25Index(("nasty", "plain"), (text, "refund"))
    assert np.isfinite(bm25.scores(Rewrite((text[:MAX_QUERY_CHARS],)))).all()
    assert bm25.top(Rewrite(("refund",)), 1).ids


@pytest.mark.parametrize("documents", [{}, {"a": ""}, {"a": "the", "b": ""}])
def test_indexes_without_any_term(documents: dict[str, str], tmp_path: Path) -> None:
    bm25 = Bm25Index(tuple(documents), tuple(documents.values()))
    bm25.save(tmp_path / "index", fingerprint="f")
    restored = Bm25Index.load(tmp_path / "index", fingerprint="f")
    assert restored is not None
    for each in (bm25, restored):
        assert len(each) == len(documents)
        assert each.scores(Rewrite(("refund",))).tolist() == [0.0] * len(documents)
        assert each.top(Rewrite(("refund",)), 5).ids == ()


def test_ids_and_texts_belong_together() -> None:
    with pytest.raises(InputError, match="1 ids for 2 texts"):
        Bm25Index(("a",), ("x", "y"))


def test_a_stored_index_scores_the_same(tmp_path: Path) -> None:
    bm25 = index()
    bm25.save(tmp_path / "deep" / "index", fingerprint="f")
    restored = Bm25Index.load(tmp_path / "deep" / "index", fingerprint="f")
    assert restored is not None
    assert restored.ids == bm25.ids
    assert restored.rows == bm25.rows
    for text in ("card refund", "退款", "weather"):
        np.testing.assert_array_equal(
            restored.scores(Rewrite((text,))), bm25.scores(Rewrite((text,)))
        )


def test_an_index_of_other_documents_is_not_taken(tmp_path: Path) -> None:
    index().save(tmp_path / "index", fingerprint="f")
    assert Bm25Index.load(tmp_path / "index", fingerprint="g") is None
    assert Bm25Index.load(tmp_path / "nowhere", fingerprint="f") is None


def test_an_older_index_is_replaced(tmp_path: Path) -> None:
    index().save(tmp_path / "index", fingerprint="f")
    Bm25Index(("z",), ("refund",)).save(tmp_path / "index", fingerprint="g")
    restored = Bm25Index.load(tmp_path / "index", fingerprint="g")
    assert restored is not None
    assert restored.ids == ("z",)


def test_a_damaged_index_is_not_taken(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    index().save(folder, fingerprint="f")
    files = sorted(folder.iterdir())
    assert len(files) >= 5
    for file in files:
        content = file.read_bytes()
        for damaged in (b"", content[: len(content) // 2], b"\x00garbage", b"[1, 2]"):
            file.write_bytes(damaged)
            assert Bm25Index.load(folder, fingerprint="f") is None, (file.name, damaged[:9])
        file.unlink()
        assert Bm25Index.load(folder, fingerprint="f") is None, file.name
        file.write_bytes(content)
    assert Bm25Index.load(folder, fingerprint="f") is not None


WORDS = ("refund", "card", "week", "delivery", "退款", "the")
CORPUS = st.lists(
    st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), min_size=1, max_size=12
)


@given(CORPUS, st.lists(st.booleans(), min_size=12, max_size=12), st.data())
def test_what_a_filter_lets_through_scores_as_if_nothing_else_were_there(
    texts: list[str], coins: list[bool], data: st.DataObject
) -> None:
    """Numbers of documents, lengths and frequencies outside a filter move no score inside it."""
    query = data.draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join))
    ids = [f"d{row}" for row in range(len(texts))]
    allowed = np.asarray(coins[: len(texts)])
    inside = [row for row in range(len(texts)) if allowed[row]]
    rewrite = Rewrite((query, "card"), (0.7, 0.3))

    scores = Bm25Index(ids, texts).scores(rewrite, allowed)
    alone = Bm25Index([ids[row] for row in inside], [texts[row] for row in inside])

    everything = np.ones(len(inside), dtype=np.bool_)
    np.testing.assert_array_equal(scores[inside], alone.scores(rewrite, everything))
    np.testing.assert_allclose(scores[inside], alone.scores(rewrite), rtol=1e-6)
    assert not scores[~allowed].any()


def test_a_stored_index_filters_the_same(tmp_path: Path) -> None:
    allowed = np.asarray([True, True, False, True, False])
    index().save(tmp_path / "index", fingerprint="f")
    restored = Bm25Index.load(tmp_path / "index", fingerprint="f")
    assert restored is not None
    rewrite = Rewrite(("card refund",))
    expected = index().scores(rewrite, allowed)
    np.testing.assert_array_equal(restored.scores(rewrite, allowed), expected)
    assert expected.any()
