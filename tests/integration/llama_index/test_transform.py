"""The rewriter as a query transform."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine, TransformQueryEngine
from llama_index.core.retrievers import TransformRetriever
from llama_index.core.schema import QueryBundle

from rl_rewriter import RLQueryRewriter
from rl_rewriter.errors import MissingExtraError
from rl_rewriter.integrations.llama_index import (
    QueryRewriteTransform,
    chat_history,
)
from tests.integration.llama_index.parts import (
    QUESTION,
    RecordingRetriever,
    chroma_index,
    decided,
    embedding_of,
    logged,
    of_words,
    retriever_over,
    simple_index,
)
from tests.support import fixed_checkpoint

WORDS = "money back card"


def test_the_text_is_replaced_and_what_belonged_to_it_dropped() -> None:
    transform = QueryRewriteTransform(of_words("keywords"))
    bundle = QueryBundle(QUESTION, custom_embedding_strs=["old"], embedding=[1.0], image_path="a")
    assert transform(bundle) == QueryBundle(WORDS, image_path="a")
    assert bundle == QueryBundle(
        QUESTION, custom_embedding_strs=["old"], embedding=[1.0], image_path="a"
    )
    assert transform(QUESTION) == QueryBundle(WORDS)


@pytest.mark.parametrize("rewriter", [RLQueryRewriter(), of_words("keep")], ids=["no", "keep"])
def test_a_kept_query_stays_as_it_came(rewriter: RLQueryRewriter) -> None:
    bundle = QueryBundle(QUESTION, custom_embedding_strs=["old"], embedding=[1.0])
    assert QueryRewriteTransform(rewriter)(bundle) == bundle


def test_only_actions_that_make_one_text_are_possible() -> None:
    own = retriever_over(chroma_index())
    for action in ("move_dense_3@0.4", "fuse_bm25@0.6", "keywords@0.5"):
        rewriter = RLQueryRewriter(own, checkpoint=fixed_checkpoint(own, action))
        assert QueryRewriteTransform(rewriter)(QUESTION).query_str == QUESTION
        decision = decided()
        assert set(decision.probabilities) == {"keep", "keywords", "top_idf_4", "topic"}


async def test_engines_search_the_rewrite(tmp_path: Path) -> None:
    index = simple_index()
    rewriter = of_words("keywords", log=tmp_path / "log.jsonl")
    transform = QueryRewriteTransform(rewriter)
    inner = RetrieverQueryEngine.from_args(index.as_retriever(), llm=MockLLM())
    engine = TransformQueryEngine(inner, query_transform=transform)
    embedding_of(index).embedded.clear()
    engine.query(QUESTION)
    await engine.aquery(QUESTION)
    TransformRetriever(index.as_retriever(), transform).retrieve(QUESTION)
    assert embedding_of(index).embedded == [WORDS] * 3
    assert [record["action"] for record in logged(tmp_path / "log.jsonl")] == ["keywords"] * 3


def test_history_of_a_block() -> None:
    base = RecordingRetriever()
    retriever = TransformRetriever(
        base, QueryRewriteTransform(of_words("history_last_user_in_front"))
    )
    with chat_history(["Do you send parcels abroad?", "Yes."]):
        retriever.retrieve("How much?")
    assert base.asked == ["Do you send parcels abroad? How much?"]


def test_without_llama_index_the_line_that_installs_it_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in list(sys.modules):
        if name.split(".")[0] == "llama_index" or "integrations.llama_index" in name:
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "llama_index", None)
    with pytest.raises(MissingExtraError, match=r'pip install "rl-rewriter\[llama-index\]"'):
        importlib.import_module("rl_rewriter.integrations.llama_index")
