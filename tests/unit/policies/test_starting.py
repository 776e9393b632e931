"""Where a rewriter starts that has seen nothing of a collection."""

from __future__ import annotations

from pathlib import Path

import pytest

from rl_rewriter.actions.blend import BLEND, LearnedBlend
from rl_rewriter.actions.blend_prior import STARTING_STRENGTH, shipped_prior
from rl_rewriter.actions.space import default_actions
from rl_rewriter.actions.views import views_for
from rl_rewriter.errors import InputError
from rl_rewriter.policies.exploration import Exploration
from rl_rewriter.policies.starting import prior_checkpoint
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.retrieval.protocols import Retriever
from rl_rewriter.rewriter import RLQueryRewriter
from tests.support import (
    DOCUMENTS,
    QUERIES,
    TokenEmbedder,
    chroma_collection,
    even_blend,
)


@pytest.fixture(scope="module")
def retriever(tmp_path_factory: pytest.TempPathFactory) -> Retriever:
    folder = tmp_path_factory.mktemp("bm25")
    return chroma_retriever(chroma_collection(), TokenEmbedder(), cache_dir=folder)


def blend_of(rewriter: RLQueryRewriter) -> LearnedBlend:
    assert rewriter.checkpoint is not None
    [blend] = rewriter.checkpoint.blends
    return blend


def test_without_being_asked_to_nothing_of_the_prior_is_served(retriever: Retriever) -> None:
    assert RLQueryRewriter(retriever).decide(QUERIES[0]).action == "keep"


def test_asked_to_it_serves_the_blend_of_the_prior(retriever: Retriever) -> None:
    rewriter = RLQueryRewriter(retriever)
    rewriter.start_from_prior()
    head = blend_of(rewriter).head
    assert head.views == tuple(view.name for view in views_for(retriever.offers))
    assert head.strength == STARTING_STRENGTH
    assert head.bias.tolist() == shipped_prior().for_views(head.views).tolist()
    for query in QUERIES:
        found = rewriter.retrieve(query, k=3)
        assert (found.decision.action, found.decision.reason) == (BLEND, "policy")
        assert len(found.ranking) == 3


def test_the_checkpoint_says_where_its_weights_come_from(
    retriever: Retriever, tmp_path: Path
) -> None:
    rewriter = RLQueryRewriter(retriever)
    rewriter.start_from_prior(strength=1.0)
    rewriter.save(tmp_path / "policy")
    again = RLQueryRewriter.load(tmp_path / "policy", retriever=retriever)
    assert again.checkpoint is not None
    assert again.checkpoint.training == {"algorithm": "prior", "strength": 1.0}
    assert again.policy_version == rewriter.policy_version
    query = QUERIES[0]
    assert again.retrieve(query, k=3).ranking.ids == rewriter.retrieve(query, k=3).ranking.ids


def test_it_explores_from_there_with_propensities_and_drawn_weights(retriever: Retriever) -> None:
    rewriter = RLQueryRewriter(retriever, exploration=Exploration(sigma=0.5), seed=4)
    rewriter.start_from_prior()
    drawn = [rewriter.decide(QUERIES[0], explore=True) for _ in range(60)]
    of_blend = [decision for decision in drawn if decision.action == BLEND]
    assert 40 < len(of_blend) < 60
    assert all(0.89 < decision.propensity == decision.probabilities[BLEND] for decision in of_blend)
    assert len({tuple(decision.weights.values()) for decision in of_blend}) == len(of_blend)


def test_the_other_actions_may_be_chosen(retriever: Retriever) -> None:
    rewriter = RLQueryRewriter(retriever)
    rewriter.start_from_prior(actions=rewriter.actions.named(["keywords"]))
    assert rewriter.actions.names == ("keep", "keywords", BLEND)


def test_what_the_prior_cannot_blend_is_refused(retriever: Retriever) -> None:
    with pytest.raises(InputError, match="searches texts alone"):
        RLQueryRewriter(Bm25Retriever(DOCUMENTS)).start_from_prior()
    with pytest.raises(InputError, match="no retriever"):
        RLQueryRewriter().start_from_prior()
    with pytest.raises(InputError, match="strength must lie"):
        prior_checkpoint(retriever, strength=0.0)
    taken = default_actions(retriever.offers).extended([even_blend(retriever.offers, 3)])
    with pytest.raises(InputError, match="'blend' is the name of the blend"):
        prior_checkpoint(retriever, actions=taken)
