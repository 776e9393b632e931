"""What every retriever promises, whatever it searches."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rl_rewriter.caching.store import ServingCache
from rl_rewriter.retrieval.cached import CachedRetriever, SearchState
from rl_rewriter.retrieval.chroma import ChromaRetriever
from rl_rewriter.retrieval.embedders import as_embedder
from rl_rewriter.retrieval.hybrid import HybridRetriever
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.retrieval.known_documents import over_documents
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.retrieval.protocols import LexicalSource, Retriever, VectorSource
from rl_rewriter.retrieval.tfidf import TfidfRetriever
from rl_rewriter.types import Needs, Rewrite
from tests.support import DOCUMENTS, QUERIES, TokenEmbedder, chroma_collection

Make = Callable[[Path], Retriever]


def cached(base: Retriever) -> Retriever:
    return CachedRetriever(base, ServingCache(), SearchState(documents=lambda: "never changes"))


def words_of_ones_own(texts: list[str], k: int) -> list[list[tuple[str, float]]]:
    found = Bm25Retriever(DOCUMENTS).search([Rewrite((text,)) for text in texts], k=k)
    return [list(zip(each.ids, each.scores.tolist(), strict=True)) for each in found]


RETRIEVERS: dict[str, Make] = {
    "own": lambda folder: over_documents(words_of_ones_own, DOCUMENTS),
    "bm25": lambda folder: Bm25Retriever(DOCUMENTS),
    "tfidf": lambda folder: TfidfRetriever(DOCUMENTS),
    "tfidf+bm25": lambda folder: HybridRetriever(
        TfidfRetriever(DOCUMENTS), Bm25Retriever(DOCUMENTS)
    ),
    **{
        f"chroma-{space}": lambda folder, space=space: ChromaRetriever(  # type: ignore[misc]
            chroma_collection(space=space), as_embedder(TokenEmbedder())
        )
        for space in ("cosine", "l2", "ip")
    },
    "chroma+bm25": lambda folder: chroma_retriever(
        chroma_collection(), TokenEmbedder(), cache_dir=folder
    ),
    "hybrid": lambda folder: chroma_retriever(
        chroma_collection(), TokenEmbedder(), cache_dir=folder, default_weight=0.3
    ),
    "cached": lambda folder: cached(
        chroma_retriever(chroma_collection(), TokenEmbedder(), cache_dir=folder)
    ),
}
REWRITES = [
    *(Rewrite((query,)) for query in QUERIES),
    Rewrite(("unheardof words nowhere",)),
    Rewrite(("?",)),
    Rewrite(("如何退款",)),
]


@pytest.fixture(scope="module", params=RETRIEVERS)
def retriever(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Retriever:
    return RETRIEVERS[request.param](tmp_path_factory.mktemp("indexes"))


def rewrites_for(retriever: Retriever) -> list[Rewrite]:
    """All kinds of rewrites that it says it can search."""
    rewrites = list(REWRITES)
    if Needs.BLEND in retriever.offers:
        rewrites.append(Rewrite((QUERIES[0], "warranty repair", "size"), (0.5, 0.3, 0.2)))
    if Needs.VECTOR in retriever.offers:
        rewrites.append(Rewrite(("ignored",), vector=TokenEmbedder().vector("voucher price")))
    if Needs.LEXICAL in retriever.offers:
        rewrites.append(Rewrite((QUERIES[1],), lexical_weight=0.4))
    return rewrites


def test_it_says_what_it_is(retriever: Retriever) -> None:
    assert isinstance(retriever, Retriever)
    assert retriever.name
    assert Needs.HISTORY not in retriever.offers
    assert Needs.FIRST_RANKING in retriever.offers


@pytest.mark.parametrize("k", [1, 3, 10, 100])
def test_one_ranking_a_rewrite_best_first(retriever: Retriever, k: int) -> None:
    rewrites = rewrites_for(retriever)
    rankings = retriever.search(rewrites, k=k)
    assert len(rankings) == len(rewrites)
    for ranking in rankings:
        assert len(ranking.ids) == len(ranking.scores) <= k
        assert ranking.scores.dtype == np.float32
        assert np.isfinite(ranking.scores).all()
        assert np.all(np.diff(ranking.scores) <= 0)
        assert len(set(ranking.ids)) == len(ranking.ids)
        assert set(ranking.ids) <= set(DOCUMENTS)
        if Needs.VECTOR in retriever.offers:
            assert len(ranking) == min(k, len(DOCUMENTS))


def test_a_batch_is_its_single_searches(retriever: Retriever) -> None:
    rewrites = rewrites_for(retriever)
    together = retriever.search(rewrites, k=5)
    again = retriever.search(rewrites, k=5, filters=[None] * len(rewrites))
    for rewrite, one, other in zip(rewrites, together, again, strict=True):
        [alone] = retriever.search([rewrite], k=5)
        assert alone.ids == one.ids == other.ids
        np.testing.assert_allclose(alone.scores, one.scores, atol=1e-5)
    assert retriever.search([], k=5) == []


def test_documents_only_when_asked_for(retriever: Retriever) -> None:
    rewrites = rewrites_for(retriever)
    bare = retriever.search(rewrites, k=3)
    full = retriever.search(rewrites, k=3, with_documents=True)
    for one, other in zip(bare, full, strict=True):
        assert one.ids == other.ids
        assert one.texts is None
        assert other.texts == tuple(DOCUMENTS[id_] for id_ in other.ids)
        assert other.metadatas is not None
        assert len(other.metadatas) == len(other.ids)


def test_the_whole_of_a_blend_is_the_text_itself(retriever: Retriever) -> None:
    if Needs.BLEND not in retriever.offers:
        pytest.skip("no blends")
    plain, blended = retriever.search(
        [Rewrite((QUERIES[2],)), Rewrite((QUERIES[2], "size"), (1.0, 0.0))], k=5
    )
    assert blended.ids == plain.ids
    np.testing.assert_allclose(blended.scores, plain.scores, atol=1e-5)


def test_vectors_are_told_where_they_are_offered(retriever: Retriever) -> None:
    if Needs.VECTOR not in retriever.offers:
        pytest.skip("no vectors")
    assert isinstance(retriever, VectorSource)
    vectors = retriever.embed_queries(QUERIES)
    assert vectors.shape == (len(QUERIES), 32)
    by_text = retriever.search([Rewrite((query,)) for query in QUERIES], k=5)
    by_vector = retriever.search(
        [Rewrite((query,), vector=vector) for query, vector in zip(QUERIES, vectors, strict=True)],
        k=5,
    )
    assert [ranking.ids for ranking in by_text] == [ranking.ids for ranking in by_vector]
    documents = retriever.document_vectors(["size", "nothing", "card"])
    assert documents.shape == (3, 32)
    assert documents[0].any()
    assert not documents[1].any()


def test_words_are_ranked_where_they_are_offered(retriever: Retriever) -> None:
    if Needs.LEXICAL not in retriever.offers:
        pytest.skip("no words")
    assert isinstance(retriever, LexicalSource)
    rankings = retriever.lexical([*QUERIES, "unheardof"], k=3)
    assert len(rankings) == 5
    assert all(0 < len(ranking) <= 3 for ranking in rankings[:4])
    assert len(rankings[4]) == 0
    assert all((ranking.scores > 0).all() for ranking in rankings)


def test_term_weights(retriever: Retriever) -> None:
    statistics = retriever.statistics()
    assert statistics.n_documents == len(DOCUMENTS)
    assert statistics.knows("voucher")
    assert 0 < statistics.idf("account") < statistics.idf("voucher") < statistics.idf("unheardof")
    assert statistics.topic_of([]) is None
