"""BM25 and TF-IDF over documents in memory."""

from __future__ import annotations

import numpy as np
import pytest

from rl_rewriter.actions.space import default_actions
from rl_rewriter.errors import CollectionError, InputError
from rl_rewriter.retrieval.hybrid import HybridRetriever
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.retrieval.text_only import TextOnly
from rl_rewriter.retrieval.tfidf import TfidfRetriever
from rl_rewriter.text.alike import ask_alike
from rl_rewriter.types import Filters, Rewrite
from tests.support import CHINESE_DOCUMENTS, DOCUMENTS

KINDS = [Bm25Retriever, TfidfRetriever]
Kind = type[Bm25Retriever] | type[TfidfRetriever]


@pytest.mark.parametrize("kind", KINDS)
def test_finds_the_document_about_it(kind: Kind) -> None:
    retriever = kind({**DOCUMENTS, **CHINESE_DOCUMENTS})
    english, chinese = retriever.search(
        [Rewrite(("customs parcels abroad",)), Rewrite(("发票邮件",))], k=3
    )
    assert english.ids[0] == "abroad"
    assert chinese.ids[0] == "fapiao"
    assert np.all(np.diff(english.scores) <= 0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_blend_scores_by_the_mix(kind: Kind) -> None:
    retriever = kind(DOCUMENTS)
    texts = ("warranty repair", "voucher price")
    mixed, one, other = retriever.search(
        [Rewrite(texts, (0.7, 0.3)), *(Rewrite((text,)) for text in texts)], k=len(DOCUMENTS)
    )
    scores = [dict(zip(r.ids, r.scores.tolist(), strict=True)) for r in (one, other)]
    for id_, score in zip(mixed.ids, mixed.scores.tolist(), strict=True):
        expected = 0.7 * scores[0].get(id_, 0.0) + 0.3 * scores[1].get(id_, 0.0)
        assert score == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_documents_come_with_their_texts_when_asked_for(kind: Kind) -> None:
    retriever = kind(DOCUMENTS)
    [ranking] = retriever.search([Rewrite(("warranty",))], k=2, with_documents=True)
    assert ranking.texts == tuple(DOCUMENTS[id_] for id_ in ranking.ids)
    assert retriever.documents(["size", "nothing"]) == ((DOCUMENTS["size"], None), (None, None))
    assert retriever.search([Rewrite(("warranty",))], k=2)[0].texts is None


@pytest.mark.parametrize("kind", KINDS)
def test_filters_are_refused_rather_than_dropped(kind: Kind) -> None:
    retriever = kind(DOCUMENTS)
    assert retriever.search([Rewrite(("x",))], k=1, filters=[None])
    with pytest.raises(InputError, match=f"the {retriever.name} retriever .* cannot filter"):
        retriever.search([Rewrite(("x",))], k=1, filters=[Filters({"tenant": "a"})])


@pytest.mark.parametrize("kind", KINDS)
def test_a_collection_without_documents_is_refused(kind: Kind) -> None:
    with pytest.raises(CollectionError, match="holds no documents; add some"):
        kind({})


@pytest.mark.parametrize("kind", KINDS)
def test_statistics_come_from_the_texts(kind: Kind) -> None:
    statistics = kind(DOCUMENTS).statistics()
    assert statistics.n_documents == len(DOCUMENTS)
    assert statistics.knows("customs")
    assert kind(DOCUMENTS).search([], k=3) == []


SPELT = {
    "forms": "refunded in seven days",
    "other": "parcels abroad",
    "word": "the refund of a fee",
}


def words(alike: float) -> Rewrite:
    texts = (ask_alike("refund"),)
    return Rewrite(("refund",), lexical_weight=alike, lexical_texts=texts, lexical_shares=(1.0,))


def test_bm25_counts_words_that_are_spelt_alike() -> None:
    plain, half, whole = Bm25Retriever(SPELT).search(
        [Rewrite(("refund",)), words(0.5), words(1.0)], k=3
    )
    assert plain.ids == ("word",)
    assert half.ids == whole.ids == ("word", "forms")
    score = dict(zip(whole.ids, whole.scores.tolist(), strict=True))
    assert half.scores[0] == pytest.approx((plain.scores[0] + score["word"]) / 2)
    assert half.scores[1] == pytest.approx(score["forms"] / 2)


def test_bm25_alone_offers_it() -> None:
    alone = Bm25Retriever(SPELT)
    fused = HybridRetriever(TfidfRetriever(SPELT), alone)
    around = HybridRetriever(alone, alone)
    names = {"words_alike", "words_alike@0.5"}
    assert names <= set(default_actions(alone.offers).names)
    for other in (fused, around, TextOnly()):
        assert not names & set(default_actions(other.offers).names)
