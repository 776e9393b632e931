"""Fusion of a ranking with BM25, by hand and over a collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rl_rewriter.errors import CollectionError
from rl_rewriter.retrieval.bm25 import Bm25Index
from rl_rewriter.retrieval.hybrid import HybridRetriever
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.retrieval.protocols import FilterList
from rl_rewriter.retrieval.tfidf import TfidfRetriever
from rl_rewriter.rewriter import RLQueryRewriter
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.training.config import FitConfig, ReinforceConfig
from rl_rewriter.types import Filters, Needs, Ranking, Rewrite
from tests.support import DOCUMENTS, QUERIES, TokenEmbedder, chroma_collection

TEXTS = {"a": "refund", "b": "refund refund", "c": "parcel", "d": "letter", "e": "letter"}


KEEP = Rewrite(("refund",))


class FixedScores:
    """Finds documents at given scores, whatever is asked."""

    name = "fixed"
    offers = Needs.BLEND | Needs.FIRST_RANKING

    def __init__(self, scores: Mapping[str, float]) -> None:
        self.scores = scores

    @property
    def n_documents(self) -> int:
        return len(self.scores)

    def search(
        self,
        rewrites: Sequence[Rewrite],
        *,
        k: int,
        filters: FilterList | None = None,
        with_documents: bool = False,
    ) -> list[Ranking]:
        values = np.asarray(list(self.scores.values()), dtype=np.float32)
        return [Ranking(tuple(self.scores), values).top(k) for _ in rewrites]

    def documents(
        self, ids: Sequence[str]
    ) -> tuple[tuple[str | None, ...], tuple[Mapping[str, Any] | None, ...]]:
        return tuple(TEXTS.get(id_) for id_ in ids), (None,) * len(ids)

    def statistics(self) -> CollectionStatistics:
        return CollectionStatistics.from_texts(TEXTS.values())


def fixed(scores: Mapping[str, float], default_weight: float = 0.0) -> HybridRetriever:
    return HybridRetriever(FixedScores(scores), Bm25Retriever(TEXTS), default_weight=default_weight)


def test_fusion_by_hand() -> None:
    """The base finds c, a, d and the words find a, b: the union is a, b, c, d."""
    base = {"c": 0.9, "a": 0.5, "d": 0.1}
    [ranking] = fixed(base).search([Rewrite(("refund",), lexical_weight=0.4)], k=10)
    bm25 = Bm25Index(tuple(TEXTS), tuple(TEXTS.values())).scores(Rewrite(("refund",)))
    a_share = float(bm25[0] / bm25[1])
    expected = {
        "c": 0.6 * 1.0,
        "a": 0.6 * 0.5 + 0.4 * a_share,
        "b": 0.6 * 0.0 + 0.4 * 1.0,
        "d": 0.0,
    }
    order = sorted(expected, key=lambda id_: -expected[id_])
    assert list(ranking.ids) == order
    assert ranking.scores.tolist() == pytest.approx([expected[id_] for id_ in order], rel=1e-5)


def test_a_base_that_is_bm25_scores_the_texts_alone() -> None:
    base = Bm25Retriever(TEXTS)
    rewrite = Rewrite(
        ("refund",), lexical_weight=0.5, lexical_texts=("parcel",), lexical_shares=(1.0,)
    )
    [alone] = base.search([KEEP], k=10)
    scores = dict(zip(alone.ids, alone.scores.tolist(), strict=True))
    [expected] = fixed(scores).search([rewrite], k=10)
    [found] = HybridRetriever(base, base).search([rewrite], k=10)
    assert found.ids == expected.ids
    assert set(found.ids) == {"a", "b", "c"}
    assert found.scores.tolist() == pytest.approx(expected.scores.tolist())


@pytest.mark.parametrize(
    ("text", "weight", "ids"),
    [
        ("refund", 1.0, ("b", "a", "d", "c")),  # the last two have no score
        ("weather", 0.5, ("c", "a", "d")),
        ("parcel", 0.5, ("c", "a", "d")),
    ],
)
def test_extremes(text: str, weight: float, ids: tuple[str, ...]) -> None:
    base = {"c": 0.9, "a": 0.5, "d": 0.1}
    [ranking] = fixed(base).search([Rewrite((text,), lexical_weight=weight)], k=10)
    assert ranking.ids == ids


def test_scores_that_are_none_are_not_fused() -> None:
    """They would leave no document at all."""
    for odd in (float("nan"), float("inf")):
        with pytest.raises(CollectionError, match="fixed retriever"):
            fixed({"c": 0.9, "a": odd}).search([Rewrite(("refund",), lexical_weight=0.4)], k=10)


def test_words_alone_where_the_base_finds_nothing() -> None:
    [ranking] = fixed({}).search([Rewrite(("refund",), lexical_weight=0.3)], k=10)
    assert ranking.ids == ("b", "a")
    [nothing] = fixed({}).search([Rewrite(("weather",), lexical_weight=0.3)], k=10)
    assert nothing.ids == ()


def test_plain_and_fused_rewrites_in_one_batch_keep_their_order() -> None:
    retriever = fixed({"c": 0.9, "a": 0.5, "d": 0.1})
    fused = Rewrite(("refund",), lexical_weight=1.0)
    plain = Rewrite(("refund",))
    found = retriever.search([fused, plain, fused, plain], k=1)
    assert [ranking.ids for ranking in found] == [("b",), ("c",), ("b",), ("c",)]
    assert retriever.search([], k=1) == []


def test_a_default_weight_makes_keep_a_hybrid_search() -> None:
    base = {"c": 0.9, "a": 0.5, "d": 0.1}
    hybrid = fixed(base, default_weight=0.4)
    rewrites = [Rewrite(("refund",)), Rewrite(("refund",), lexical_weight=1.0)]
    kept, own = hybrid.search(rewrites, k=10)
    [expected] = fixed(base).search([Rewrite(("refund",), lexical_weight=0.4)], k=10)
    assert (hybrid.name, fixed(base).name) == ("hybrid", "fixed")
    assert kept.ids == expected.ids
    assert own.ids[0] == "b"


def test_a_rewrite_may_refuse_the_default_weight() -> None:
    base = {"c": 0.9, "a": 0.5, "d": 0.1}
    hybrid = fixed(base, default_weight=0.4)
    refusing, kept = hybrid.search([Rewrite(("refund",), without_words=True), KEEP], k=10)
    assert refusing.ids == ("c", "a", "d")
    assert "b" in kept.ids


def test_documents_deleted_since_indexing_drop_out() -> None:
    retriever = HybridRetriever(
        FixedScores({"c": 0.9, "gone": 0.5}), Bm25Retriever({**TEXTS, "lost": "refund"})
    )
    rewrite = Rewrite(("refund",), lexical_weight=0.5)
    [ranking] = retriever.search([rewrite], k=10, with_documents=True)
    assert set(ranking.ids) == {"a", "b", "c"}
    assert ranking.texts == tuple(TEXTS[id_] for id_ in ranking.ids)
    assert len(ranking.scores) == 3


def test_what_it_offers_follows_the_base(tmp_path: Path) -> None:
    assert fixed({}).offers == Needs.BLEND | Needs.FIRST_RANKING | Needs.LEXICAL
    dense = chroma_retriever(chroma_collection(), TokenEmbedder(), cache_dir=tmp_path)
    assert dense.offers == ~(Needs.HISTORY | Needs.SPELLING) & ~Needs.NOTHING
    with pytest.raises(TypeError, match="tfidf retriever has no vectors"):
        HybridRetriever(TfidfRetriever(TEXTS), Bm25Retriever(TEXTS)).embed_queries(["x"])


def test_over_chroma_everything_goes_through(tmp_path: Path) -> None:
    embedder = TokenEmbedder()
    tenants = [{"tenant": "ab"[row % 2]} for row in range(len(DOCUMENTS))]
    collection = chroma_collection(embedder=embedder, metadatas=tenants)
    retriever = chroma_retriever(collection, embedder, cache_dir=tmp_path)
    rewrites = [Rewrite((query,)) for query in QUERIES]
    kept = retriever.search(rewrites, k=3)
    assert [r.ids for r in kept] == [r.ids for r in retriever.base.search(rewrites, k=3)]
    fused = [Rewrite((query,), lexical_weight=0.5) for query in QUERIES]
    restriction = Filters({"tenant": "a"})
    rankings = retriever.search(fused, k=4, filters=[restriction] * 4, with_documents=True)
    lexical = retriever.lexical(QUERIES, k=4, filters=[restriction, None, restriction, None])
    for ranking in rankings:
        assert {(m or {})["tenant"] for m in ranking.metadatas or ()} == {"a"}
    odd = set(list(DOCUMENTS)[1::2])
    assert not odd & {id_ for ranking in lexical[::2] for id_ in ranking.ids}
    assert odd & {id_ for ranking in lexical[1::2] for id_ in ranking.ids}
    np.testing.assert_allclose(
        retriever.document_vectors(["size"])[0], embedder.vector(DOCUMENTS["size"]), rtol=1e-5
    )
    assert retriever.documents(["size"])[0] == (DOCUMENTS["size"],)
    assert retriever.statistics().n_documents == len(DOCUMENTS)


def test_training_notices_texts_that_were_edited_in_place(tmp_path: Path) -> None:
    texts = {f"d{n}": f"article number {n} about parcels" for n in range(8)}
    collection = chroma_collection(texts)
    retriever = chroma_retriever(
        collection, TokenEmbedder(), cache_dir=tmp_path, refresh_seconds=3600
    )
    assert [ranking.ids for ranking in retriever.lexical(["zebra"], k=3)] == [()]
    collection.update(
        ids=["d3"],
        documents=["a zebra crossing"],
        embeddings=TokenEmbedder().embed_documents(["a zebra crossing"]),
    )
    queries = {f"q{n}": f"parcels {n}" for n in range(6)}
    RLQueryRewriter(retriever).fit(
        queries,
        {id_: {"d1": 1.0} for id_ in queries},
        config=FitConfig(reinforce=ReinforceConfig(updates=2)),
    )
    assert [ranking.ids for ranking in retriever.lexical(["zebra"], k=3)] == [("d3",)]
