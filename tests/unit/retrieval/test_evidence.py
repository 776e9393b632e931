"""Evidence is gathered in a few batched calls, and never twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rl_rewriter.retrieval.chroma import ChromaRetriever
from rl_rewriter.retrieval.embedders import as_embedder
from rl_rewriter.retrieval.evidence import EVIDENCE_DEPTH, LEXICAL_DEPTH, extend, gather
from rl_rewriter.retrieval.hybrid import HybridRetriever
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.retrieval.tfidf import TfidfRetriever
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.types import FEEDBACK_DOCUMENTS, Matrix, Needs, Query, Ranking, Rewrite, Turn
from tests.support import DOCUMENTS, TokenEmbedder, chroma_collection

EVERYTHING = ~Needs.NOTHING
STATISTICS = CollectionStatistics.from_texts(DOCUMENTS.values())
QUERY = Query("who pays for a repair of the card?")


class Counted(HybridRetriever):
    """Counts what is asked of a real retriever."""

    def __init__(self, retriever: HybridRetriever) -> None:
        super().__init__(retriever.base, retriever._index)
        self.calls: Counter[str] = Counter()

    def search(self, rewrites: Sequence[Rewrite], **settings: Any) -> list[Ranking]:
        self.calls["search"] += 1
        assert rewrites
        return super().search(rewrites, **settings)

    def lexical(self, texts: Sequence[str], **settings: Any) -> list[Ranking]:
        self.calls["lexical"] += 1
        assert texts
        return super().lexical(texts, **settings)

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        self.calls["embed"] += 1
        return super().embed_queries(texts)

    def document_vectors(self, ids: Sequence[str]) -> Matrix:
        self.calls["vectors"] += 1
        return super().document_vectors(ids)


@pytest.fixture
def embedder() -> TokenEmbedder:
    return TokenEmbedder()


@pytest.fixture
def retriever(embedder: TokenEmbedder, tmp_path: Path) -> Counted:
    return Counted(chroma_retriever(chroma_collection(), embedder, cache_dir=tmp_path))


def test_everything_for_many_queries_in_a_few_calls(
    retriever: Counted, embedder: TokenEmbedder
) -> None:
    queries = [QUERY, Query("delivery abroad"), QUERY, Query("???")]
    found = gather(queries, retriever, STATISTICS, EVERYTHING)
    assert retriever.calls == {"embed": 1, "search": 1, "lexical": 1, "vectors": 1}
    assert embedder.embedded == [QUERY.text, "delivery abroad", "???"]
    for item in found:
        assert item.vector is not None
        assert item.first is not None
        assert item.lexical is not None
        assert item.first.texts == tuple(DOCUMENTS[id_] for id_ in item.first.ids)
        for ranking in (item.first, item.lexical):
            vectors = ranking.vectors if ranking.vectors is not None else np.zeros((0, 32))
            expected = [embedder.vector(DOCUMENTS[id_]) for id_ in ranking.ids[:FEEDBACK_DOCUMENTS]]
            np.testing.assert_allclose(vectors, np.reshape(expected, (-1, 32)), rtol=1e-5)
    assert [len(item.lexical or ()) for item in found][3] == 0


def test_only_what_is_needed(retriever: Counted) -> None:
    [item] = gather([QUERY], retriever, STATISTICS, Needs.NOTHING)
    assert retriever.calls == {}
    assert (item.vector, item.first, item.lexical) == (None, None, None)
    [item] = gather([QUERY], retriever, STATISTICS, Needs.FIRST_RANKING)
    assert retriever.calls == {"embed": 1, "search": 1}
    assert item.first is not None
    assert item.first.texts is None
    [item] = gather([QUERY], retriever, STATISTICS, Needs.FIRST_RANKING, with_documents=True)
    assert item.first is not None
    assert item.first.texts is not None


def test_vectors_that_the_caller_has_are_taken(retriever: Counted, embedder: TokenEmbedder) -> None:
    own = np.asarray(np.eye(32)[0], dtype=np.float32)
    [item] = gather([QUERY], retriever, STATISTICS, Needs.FIRST_RANKING, vectors=[own])
    [expected] = retriever.search([Rewrite(("x",), vector=own)], k=10)
    assert item.vector is own
    assert embedder.embedded == []
    assert item.first is not None
    assert item.first.ids == expected.ids


def test_what_is_there_is_not_gathered_again(retriever: Counted) -> None:
    found = gather([QUERY], retriever, STATISTICS, EVERYTHING)
    before = dict(retriever.calls)
    extend(found, retriever, EVERYTHING)
    extend(found, retriever, Needs.FIRST_TEXTS | Needs.LEXICAL)
    assert retriever.calls == before


@pytest.mark.parametrize("order", [1, -1])
def test_evidence_in_steps_is_evidence_at_once(retriever: Counted, order: int) -> None:
    """Texts that are asked for later may not cost the vectors that are there, nor the reverse."""
    steps = [Needs.FIRST_VECTORS, Needs.FIRST_TEXTS, Needs.LEXICAL, Needs.LEXICAL_VECTORS]
    [once] = gather([QUERY], retriever, STATISTICS, EVERYTHING, depth=5)
    [item] = gather([QUERY], retriever, STATISTICS, Needs.FIRST_RANKING, depth=5)
    for step in steps[::order]:
        extend([item], retriever, step, depth=5)
    for side in ("first", "lexical"):
        one, other = getattr(item, side), getattr(once, side)
        assert (one.ids, one.texts) == (other.ids, other.texts)
        np.testing.assert_array_equal(one.vectors, other.vectors)
    unasked = Needs.VECTOR | Needs.FIRST_RANKING | Needs.HISTORY_VECTORS
    assert item.gathered | unasked == once.gathered


def test_some_queries_have_it_already(retriever: Counted) -> None:
    [ready] = gather([QUERY], retriever, STATISTICS, EVERYTHING)
    [fresh] = gather([Query("delivery")], retriever, STATISTICS, Needs.NOTHING)
    first = ready.first
    extend([ready, fresh], retriever, Needs.FIRST_TEXTS | Needs.LEXICAL)
    assert ready.first is first
    assert fresh.first is not None
    assert fresh.lexical is not None


def test_what_a_retriever_does_not_offer_is_left_out() -> None:
    [item] = gather([QUERY], TfidfRetriever(DOCUMENTS), STATISTICS, EVERYTHING)
    assert item.vector is None
    assert item.lexical is None
    assert item.first is not None
    assert item.first.texts is not None
    assert item.gathered == Needs.FIRST_RANKING | Needs.FIRST_TEXTS


def test_an_empty_collection_gives_empty_evidence(tmp_path: Path) -> None:
    empty = chroma_retriever(chroma_collection({}), TokenEmbedder(), cache_dir=tmp_path)
    [item] = gather([QUERY], empty, STATISTICS, EVERYTHING)
    assert item.first is not None
    assert item.lexical is not None
    assert len(item.first) == len(item.lexical) == 0


def test_dense_retrievers_have_no_lexical_side() -> None:
    dense = ChromaRetriever(chroma_collection(), as_embedder(TokenEmbedder()))
    [item] = gather([QUERY], dense, STATISTICS, EVERYTHING)
    assert item.lexical is None
    assert item.first is not None
    assert item.first.vectors is not None


TALK = Query(
    "and abroad?",
    (Turn("user", "how long does delivery take?"), Turn("assistant", "Two days.")),
)
PARTS = ("how long does delivery take? and abroad?", "Two days.")


def test_parts_of_the_conversation_are_embedded_with_the_query(
    retriever: Counted, embedder: TokenEmbedder
) -> None:
    found = gather([TALK, QUERY, TALK], retriever, STATISTICS, Needs.HISTORY_VECTORS)
    assert retriever.calls == {"embed": 1}
    assert embedder.embedded == [TALK.text, QUERY.text, *PARTS]
    assert found[1].part_vectors == {}
    for item in (found[0], found[2]):
        assert tuple(item.part_vectors) == PARTS
        for text, vector in item.part_vectors.items():
            np.testing.assert_allclose(vector, embedder.vector(text), rtol=1e-5)


def test_they_are_embedded_only_where_they_are_needed(
    retriever: Counted, embedder: TokenEmbedder
) -> None:
    [item] = gather([TALK], retriever, STATISTICS, EVERYTHING & ~Needs.HISTORY_VECTORS)
    assert item.part_vectors == {}
    assert embedder.embedded == [TALK.text]
    extend([item], retriever, Needs.HISTORY_VECTORS)
    assert embedder.embedded == [TALK.text, *PARTS]
    extend([item], retriever, EVERYTHING)
    assert embedder.embedded == [TALK.text, *PARTS]


def test_the_ranking_by_words_is_deeper_than_what_is_looked_at(tmp_path: Path) -> None:
    documents = {f"d{number:03}": f"refund of order {number}" for number in range(120)}
    retriever = chroma_retriever(chroma_collection(documents), TokenEmbedder(), cache_dir=tmp_path)
    [item] = gather([Query("refund")], retriever, STATISTICS, Needs.LEXICAL | Needs.FIRST_RANKING)
    assert item.lexical is not None
    assert len(item.lexical) == LEXICAL_DEPTH
    assert item.first is not None
    assert len(item.first) == EVIDENCE_DEPTH
