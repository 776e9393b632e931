"""One search by all views: what is sent, and that it is scored as it was trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from rl_rewriter.actions.blend import LearnedBlend, compose
from rl_rewriter.actions.blend_head import TanhNetwork
from rl_rewriter.actions.space import ActionSpace, default_actions
from rl_rewriter.actions.views import look, views_named
from rl_rewriter.retrieval.evidence import gather
from rl_rewriter.retrieval.hybrid import HybridRetriever
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.types import Evidence, Needs, Query, Rewrite, Turn
from tests.support import DOCUMENTS, TokenEmbedder, chroma_collection
from tests.unit.actions.conftest import MakeEvidence, head_of, ranking

VIEWS = ("query", "first_3", "fused_3", "bm25_3", "words", "words_expanded")
OF_HISTORY = ("history_in_front", "last_answer", "words_of_history", "words_of_history_alike")
QUERY = Query(
    "who pays for it then?", (Turn("user", "a repair within the warranty"), Turn("assistant", "ok"))
)
STATISTICS = CollectionStatistics.from_texts(DOCUMENTS.values())


def shares(n: int, seed: int) -> list[float]:
    """Weights of which none is next to nothing."""
    found: list[float] = np.random.default_rng(seed).uniform(0.2, 1.0, n).tolist()
    return found


def sent(
    evidence: Evidence, names: Sequence[str], weights: Sequence[float], scale: object = None
) -> Rewrite:
    views = views_named(names)
    scaled = np.ones(len(views), dtype=np.float32) if scale is None else np.asarray(scale)
    seen = look(evidence, views)
    return compose(evidence, views, seen, np.asarray(weights, dtype=np.float32), scaled)


def test_dense_views_are_one_vector_and_lexical_ones_a_mix_of_words(evidence: MakeEvidence) -> None:
    item = evidence(
        "refund",
        vector=[1.0, 0.0],
        first=ranking(["refund card order", "refund card"], vectors=[[0, 1], [0, 1]]),
    )
    names = ("query", "first_3", "words", "words_expanded")
    found = sent(item, names, [0.3, 0.2, 0.4, 0.1], [1.0, 2.0, 1.0, 0.5])
    assert found.vector is not None
    # Weights over scales .3 and .1, which make .75 and .25.
    np.testing.assert_allclose(found.vector, [0.75, 0.25], rtol=1e-6)
    assert found.texts == ("refund",)
    assert found.lexical_weight == pytest.approx(0.5)
    assert found.lexical_texts == ("refund", look(item, views_named(names)).texts[3])
    assert found.lexical_shares == pytest.approx((4 / 6, 2 / 6))
    assert found.words.texts == found.lexical_texts


def test_what_weighs_next_to_nothing_is_left_out(evidence: MakeEvidence) -> None:
    item = evidence("refund", vector=[1.0, 0.0], first=ranking(["card"], vectors=[[0, 1]]))
    names = ("query", "first_3", "words", "words_expanded")
    found = sent(item, names, [0.992, 0.004, 0.002, 0.002])
    assert found.vector is not None
    assert found.vector.tolist() == [1.0, 0.0]
    assert (found.lexical_weight, found.lexical_texts, found.lexical_shares) == (0.0, (), ())
    assert found.without_words  # and not what a hybrid retriever fuses by default
    found = sent(item, names, [0.5, 0.0, 0.499, 0.001])
    assert found.lexical_texts == ("refund",)
    assert found.lexical_shares == (1.0,)
    assert not found.without_words


def test_words_alone_leave_the_query_to_be_searched(evidence: MakeEvidence) -> None:
    found = sent(evidence("refund", vector=[0.6, 0.8]), ("query", "words"), [0.0, 1.0])
    assert found.lexical_weight == 1.0
    assert found.vector is not None
    np.testing.assert_allclose(found.vector, [0.6, 0.8], rtol=1e-6)


def test_a_query_with_no_other_view_is_kept(evidence: MakeEvidence) -> None:
    blend = LearnedBlend(head_of(("query", "first_3")))
    assert blend.rewrite(evidence("refund", vector=[1.0, 0.0])) is None


def test_absent_views_leave_their_weight_to_the_others(evidence: MakeEvidence) -> None:
    item = evidence("refund", vector=[1.0, 0.0], lexical=ranking(vectors=[[0, 1]]))
    blend = LearnedBlend(head_of(("query", "first_3", "bm25_3"), weights=(0.4, 0.4, 0.2)))
    found = blend.rewrite(item)
    assert found is not None
    assert found.vector is not None
    np.testing.assert_allclose(found.vector, [4 / 6, 2 / 6], rtol=1e-6)


def test_where_only_texts_are_searched_texts_are_mixed(evidence: MakeEvidence) -> None:
    item = evidence("third", (("user", "first"), ("assistant", "so")), first=ranking(["card card"]))
    blend = LearnedBlend(
        head_of(("query", "expanded", "history_in_front", "words"), weights=(0.4, 0.2, 0.2, 0.2))
    )
    found = blend.rewrite(item)
    assert found is not None
    assert found.vector is None
    assert found.texts == ("third", "third card", "first third")
    assert found.weights == pytest.approx((0.5, 0.25, 0.25))
    assert found.lexical_weight == pytest.approx(0.2)
    assert found.lexical_texts == ("third",)
    assert Needs.BLEND in blend.needs
    assert Needs.VECTOR not in blend.needs


def test_it_asks_for_all_that_its_views_are_made_of() -> None:
    needs = LearnedBlend(head_of(VIEWS)).needs
    assert Needs.FIRST_VECTORS | Needs.LEXICAL_VECTORS | Needs.FIRST_TEXTS in needs
    assert Needs.HISTORY_VECTORS in needs
    assert Needs.HISTORY not in needs  # it serves queries without a conversation as well


def test_the_state_decides_the_weights(evidence: MakeEvidence) -> None:
    network = TanhNetwork(
        np.asarray([[9.0, 0.0]], dtype=np.float32),
        np.zeros(1, dtype=np.float32),
        np.asarray([[2.0], [-2.0], [0.0]], dtype=np.float32),
    )
    blend = LearnedBlend(replace(head_of(), networks=(network,)))
    item = evidence("refund", vector=[1.0, 0.0], first=ranking(vectors=[[0, 1]]))
    sides = []
    for column in (-1.0, 1.0):
        item.features = np.asarray([column, 0.0], dtype=np.float32)
        found = blend.rewrite(item)
        assert found is not None
        assert found.vector is not None
        sides.append(float(found.vector[0]))
    assert sides[0] < 0.1
    assert sides[1] > 0.9


@pytest.mark.parametrize("strength", [0.0, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("logit", [-200.0, 0.0, 200.0])
def test_strength_stays_a_share(strength: float, logit: float) -> None:
    head = replace(head_of(strength=strength), bias=np.asarray([logit, 0.0, 0.0], dtype=np.float32))
    blend = LearnedBlend(head)
    assert 0.0 <= blend.strength <= 1.0
    assert len(default_actions(Needs.NOTHING).extended([blend])) > 1


def test_its_numbers_make_its_name_in_a_manifest() -> None:
    one, other = LearnedBlend(head_of()), LearnedBlend(head_of(strength=0.5))
    keep = default_actions(Needs.NOTHING)[0]
    spaces = [ActionSpace((keep, blend)) for blend in (one, other, LearnedBlend(head_of()))]
    prints = [space.fingerprint for space in spaces]
    assert prints[0] == prints[2] != prints[1]


@pytest.fixture(scope="module", params=["cosine", "l2", "ip"])
def searched(request: Any, tmp_path_factory: pytest.TempPathFactory) -> HybridRetriever:
    """A real Chroma with BM25."""
    collection, folder = chroma_collection(space=request.param), tmp_path_factory.mktemp("bm25")
    return chroma_retriever(collection, TokenEmbedder(), cache_dir=folder)


def min_max(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    spread = scores - scores.min()
    return np.asarray(spread / max(float(spread.max()), 1e-9))


@pytest.mark.parametrize("seed", range(3))
def test_the_served_score_is_the_trained_one(searched: HybridRetriever, seed: int) -> None:
    """``(1 - l) minmax(dense) + l minmax(lexical)``, view by view over all documents."""
    names = (*VIEWS, *OF_HISTORY)
    head = head_of(names, weights=shares(len(names), seed))
    scale = np.linspace(0.5, 2.0, len(names)).astype(np.float32)
    blend = LearnedBlend(replace(head, scale=scale))
    [item] = gather([QUERY], searched, STATISTICS, blend.needs)
    rewrite = blend.rewrite(item)
    assert rewrite is not None
    [found] = searched.search([rewrite], k=len(DOCUMENTS))

    seen, weights = (
        look(item, blend.views),
        head.weights(head.mean[None], np.ones((1, len(names))) > 0)[0],
    )
    assert seen.present.all()
    assert seen.vectors is not None
    ids = sorted(DOCUMENTS)
    documents = searched.document_vectors(ids)
    dense, words = np.zeros(len(ids)), np.zeros(len(ids))
    for row, view in enumerate(blend.views):
        factor = weights[row] / scale[row]
        if view.kind == "dense":
            dense += factor * (documents @ seen.vectors[row])
            continue
        [scored] = searched.lexical([seen.texts[row]], k=len(ids))
        known = dict(zip(scored.ids, scored.scores.tolist(), strict=True))
        words += factor * np.asarray([known.get(id_, 0.0) for id_ in ids])
    share = sum(weights[row] for row, view in enumerate(blend.views) if view.kind == "lexical")
    expected = (1 - share) * min_max(dense) + share * min_max(words)
    served = dict(zip(found.ids, found.scores.tolist(), strict=True))
    np.testing.assert_allclose([served[id_] for id_ in ids], expected, atol=2e-5)


def test_a_blend_of_vectors_alone_is_searched_without_words(searched: HybridRetriever) -> None:
    blend = LearnedBlend(head_of(("query", "first_3"), weights=(0.5, 0.5)))
    [item] = gather([QUERY], searched, STATISTICS, blend.needs)
    rewrite = blend.rewrite(item)
    assert rewrite is not None
    assert rewrite.lexical_weight == 0.0
    [found] = searched.search([rewrite], k=3)
    [directly] = searched.base.search([Rewrite(("x",), vector=rewrite.vector)], k=3)
    assert found.ids == directly.ids


def test_a_retriever_that_fuses_by_default_does_not_fuse_a_blend_without_words(
    searched: HybridRetriever,
) -> None:
    fusing = HybridRetriever(searched.base, searched._index, default_weight=0.5)
    names = ("query", "first_3", "words")
    [item] = gather([QUERY], fusing, STATISTICS, LearnedBlend(head_of(names)).needs)
    rewrite = sent(item, names, [0.6, 0.395, 0.005])
    [found] = fusing.search([rewrite], k=3)
    [directly] = searched.base.search([Rewrite(("x",), vector=rewrite.vector)], k=3)
    assert found.ids == directly.ids
    assert found.scores.tolist() == directly.scores.tolist()
