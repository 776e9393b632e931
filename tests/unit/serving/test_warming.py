"""Is everything there before the first request, and is nothing counted for it?"""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from rl_rewriter import RLQueryRewriter
from rl_rewriter.actions.blend import LearnedBlend
from rl_rewriter.actions.keep import Keep
from rl_rewriter.actions.space import ActionSpace, default_actions
from rl_rewriter.errors import CollectionError, ServingError
from rl_rewriter.features.feature_set import default_features
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.rollout.deployment import RegistryDeployment
from rl_rewriter.rollout.registry import PolicyRegistry
from rl_rewriter.types import Ranking
from tests.support import DOCUMENTS, TokenEmbedder, chroma_collection, fixed_checkpoint
from tests.unit.actions.conftest import head_of


class Broken(Bm25Retriever):
    """Can't be searched."""

    def search(self, *args: object, **settings: object) -> list[Ranking]:
        raise CollectionError("the store is down")


def test_an_index_is_built_and_a_text_embedded(tmp_path: Path) -> None:
    embedder, cache = TokenEmbedder(), tmp_path / "cache"
    retriever = chroma_retriever(chroma_collection(), embedder, cache_dir=cache)
    rewriter = RLQueryRewriter(retriever)
    assert not cache.exists()
    assert rewriter.warm_up()
    assert len(embedder.embedded) == 1
    assert any(path.is_file() for path in cache.rglob("*"))
    assert rewriter.counters["requests"] == 0


@pytest.mark.parametrize("view", ["words", "words_alike"])
def test_words_are_known_by_their_spelling_where_the_policy_blends_them(
    tmp_path: Path, view: str
) -> None:
    retriever = chroma_retriever(chroma_collection(), TokenEmbedder(), cache_dir=tmp_path)
    n_features = len(default_features(retriever.offers).columns)
    blend = LearnedBlend(head_of(("query", view), n_features=n_features))
    actions = ActionSpace((Keep(), blend))
    checkpoint = fixed_checkpoint(retriever, "blend", actions=actions)
    rewriter = RLQueryRewriter(retriever, checkpoint=checkpoint)
    assert rewriter.warm_up()
    index = retriever._index.current_index()
    assert index.knows_spelling is (view == "words_alike")


@pytest.mark.parametrize("names", [("keywords",), ("keywords", "words_alike")])
def test_bm25_alone_knows_spelling_where_an_action_looks_at_it(names: tuple[str, ...]) -> None:
    retriever = Bm25Retriever(DOCUMENTS)
    actions = default_actions(retriever.offers).named(["keep", *names])
    checkpoint = fixed_checkpoint(retriever, "keep", actions=actions)
    assert RLQueryRewriter(retriever, checkpoint=checkpoint).warm_up()
    assert retriever.current_index().knows_spelling is ("words_alike" in names)


def test_a_registry_is_read_again_before_the_first_request(tmp_path: Path) -> None:
    registry, lexical = PolicyRegistry(tmp_path / "registry"), Bm25Retriever(DOCUMENTS)
    version = registry.add(fixed_checkpoint(lexical, "keywords"))
    deployment = RegistryDeployment(registry, check_seconds=0.0)
    registry.promote(version)
    assert not deployment.versions
    assert RLQueryRewriter(lexical, deployment=deployment).warm_up()
    assert deployment.versions == (version,)


def test_what_cannot_be_searched_is_told_and_raised_in_strict_mode_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broken = Broken(DOCUMENTS)
    with caplog.at_level(logging.WARNING):
        assert not RLQueryRewriter(broken).warm_up()
    assert "warming up failed: CollectionError" in caplog.text
    with pytest.raises(ServingError):
        RLQueryRewriter(strict=True).warm_up(broken)


def test_without_a_retriever_there_is_nothing_to_open() -> None:
    assert RLQueryRewriter().warm_up()
