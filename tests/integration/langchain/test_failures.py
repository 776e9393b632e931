"""A failure of ours serves the question as asked; the wrapped retriever's own passes through."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableConfig, RunnableLambda

from rl_rewriter import Evidence, Needs, Rewrite, RLQueryRewriter
from rl_rewriter.actions.keep import Keep
from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.integrations.langchain import RewritingRetriever
from rl_rewriter.logs.store import read_records
from rl_rewriter.policies.mlp import Layer, MlpPolicy
from tests.integration.langchain.parts import Echo, Recorder, Trained, latest
from tests.support import QUERIES


class BaseError(Exception):
    """The wrapped retriever's own."""


@dataclass(frozen=True)
class Breaks:
    """An action of the user's own that fails, or whose vector can't be searched."""

    how: str
    name: str = "breaks"
    strength: float = 1.0
    needs: Needs = Needs.NOTHING

    def rewrite(self, evidence: Evidence) -> Rewrite | None:
        if self.how == "raises":
            raise RuntimeError("no rewrite today")
        vector = np.ones(7 if self.how == "wrong size" else 32, dtype=np.float32)
        if self.how == "not a number":
            vector[0] = np.nan
        return Rewrite(texts=(evidence.query.text,), vector=vector)


def _broken(rewriter: RLQueryRewriter, how: str) -> RLQueryRewriter:
    checkpoint = rewriter.checkpoint
    assert checkpoint is not None
    n_features = checkpoint.policy.n_features
    bias = np.asarray([0.0, np.nan if how == "policy" else 5.0], dtype=np.float32)
    layer = Layer(np.zeros((2, n_features), dtype=np.float32), bias)
    actions = ActionSpace((Keep(), Breaks(how)))
    return RLQueryRewriter(
        checkpoint=replace(checkpoint, policy=MlpPolicy((layer,)), actions=actions)
    )


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("policy", "fallback:policy_error"),
        ("raises", "fallback:action_error"),
        ("not a number", "fallback:action_error"),
        ("wrong size", "fallback:search"),
    ],
)
async def test_our_failures_serve_the_question(
    store: Any, trained: Trained, how: str, reason: str
) -> None:
    base = store.as_retriever()
    wrapped = RewritingRetriever(rewriter=_broken(trained("keep"), how), base_retriever=base)

    assert wrapped.invoke(QUERIES[0]) == base.invoke(QUERIES[0])
    assert (latest().action, latest().reason) == ("keep", reason)
    assert await wrapped.ainvoke(QUERIES[0]) == base.invoke(QUERIES[0])


def test_a_broken_embedder_is_the_bases_own_failure(
    store: Any, trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrapped = RewritingRetriever(rewriter=trained("keywords"), base_retriever=store.as_retriever())
    own = BaseError("the model is down")

    def embed_query(text: str) -> list[float]:
        raise own

    monkeypatch.setattr(store.embeddings, "embed_query", embed_query)

    with pytest.raises(BaseError) as caught:
        wrapped.invoke(QUERIES[0])
    assert caught.value is own


def test_an_embedder_that_fails_on_the_rewrite_alone_serves_the_question(
    store: Any, trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = store.as_retriever()
    wrapped = RewritingRetriever(rewriter=trained("keywords@0.5"), base_retriever=base)
    expected = base.invoke(QUERIES[0])
    embed = store.embeddings.embed_query

    def embed_query(text: str) -> list[float]:
        if text != QUERIES[0]:
            raise BaseError("the model is down")
        vector: list[float] = embed(text)
        return vector

    monkeypatch.setattr(store.embeddings, "embed_query", embed_query)

    assert wrapped.invoke(QUERIES[0]) == expected
    assert (latest().action, latest().reason) == ("keep", "fallback:search")


@pytest.mark.parametrize("where", [{}, {"$nonsense": 1}, {"a": 1, "b": 2}])
async def test_what_chroma_refuses_it_refuses_in_its_own_words(
    store: Any, trained: Trained, where: dict[str, Any]
) -> None:
    base = store.as_retriever()
    wrapped = RewritingRetriever(rewriter=trained("keywords"), base_retriever=base)
    with pytest.raises(Exception, match=r".") as bare:
        base.invoke(QUERIES[0], filter=where)

    with pytest.raises(type(bare.value)) as ours:
        wrapped.invoke(QUERIES[0], filter=where)
    with pytest.raises(type(bare.value)):
        await wrapped.ainvoke(QUERIES[0], filter=where)
    assert str(ours.value) == str(bare.value)


async def test_the_bases_exception_passes_unchanged(trained_on_text: Trained) -> None:
    own = BaseError("down")
    for rewriter in (RLQueryRewriter(), trained_on_text()):
        base = Echo(failure=own)
        wrapped = RewritingRetriever(rewriter=rewriter, base_retriever=base)
        with pytest.raises(BaseError) as caught:
            wrapped.invoke(QUERIES[0])
        assert caught.value is own
        with pytest.raises(BaseError) as caught:
            await wrapped.ainvoke(QUERIES[0])
        assert caught.value is own
        assert base.asked[-1] == (QUERIES[0], {})


async def test_a_base_that_fails_on_the_rewrite_is_asked_the_question(
    trained_on_text: Trained,
) -> None:
    base = Echo(failure=BaseError("too short"), fails_on="money back card")
    wrapped = RewritingRetriever(rewriter=trained_on_text(), base_retriever=base)
    recorder = Recorder()
    config: RunnableConfig = {"callbacks": [recorder]}

    [found] = wrapped.invoke(QUERIES[0], config)
    [again] = await wrapped.ainvoke(QUERIES[0], config)

    assert found.page_content == again.page_content == QUERIES[0]
    assert latest().reason == "fallback:search"
    assert [query for query, _ in base.asked] == ["money back card", QUERIES[0]] * 2
    assert len(recorder.failed) == 2
    assert len(recorder.ended) == 4


def test_a_base_that_fails_on_a_kept_question_is_asked_once(trained_on_text: Trained) -> None:
    base = Echo(failure=BaseError("down"))
    wrapped = RewritingRetriever(rewriter=trained_on_text("keep"), base_retriever=base)

    with pytest.raises(BaseError):
        wrapped.invoke(QUERIES[0])
    assert len(base.asked) == 1


def test_a_history_that_nobody_can_read_stops_no_chain(trained_on_text: Trained) -> None:
    wrapped = RewritingRetriever(rewriter=trained_on_text(), base_retriever=Echo())

    [found] = wrapped.invoke(QUERIES[0], history=[object()])

    assert found.page_content == QUERIES[0]
    assert latest().reason == "fallback:history"


def test_a_log_that_cannot_be_written_stops_no_chain(
    trained_on_text: Trained, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rewriter = trained_on_text(log=tmp_path)
    wrapped = RewritingRetriever(rewriter=rewriter, base_retriever=Echo())

    assert len(wrapped.invoke(QUERIES[0])) == 1
    assert "was not logged" in caplog.text


@pytest.mark.parametrize("fields", [{}, {"page_content": None}, {"page_content": "x", "id": [1]}])
async def test_documents_that_nobody_can_name_are_handed_over(
    trained_on_text: Trained, tmp_path: Path, fields: dict[str, Any]
) -> None:
    odd = Document.model_construct(metadata={}, **fields)
    wrapped = RewritingRetriever(
        rewriter=trained_on_text(log=tmp_path / "log.jsonl"),
        base_retriever=RunnableLambda(lambda question: [odd]),
    )
    for found in (wrapped.invoke(QUERIES[0]), await wrapped.ainvoke(QUERIES[0])):
        assert found[0] is odd
    assert latest().reason == "policy"


class LazyTurns(list[tuple[str, str]]):
    """Turns that are fetched when they are read."""

    def __init__(self) -> None:
        super().__init__()
        self.read_by: list[threading.Thread] = []

    def __iter__(self) -> Iterator[tuple[str, str]]:
        self.read_by.append(threading.current_thread())
        return iter([("user", "hello")])


def test_a_list_that_fetches_its_turns_is_read_within_our_time(trained_on_text: Trained) -> None:
    turns = LazyTurns()
    wrapped = RewritingRetriever(rewriter=trained_on_text(), base_retriever=Echo())
    wrapped.invoke(QUERIES[0], history=turns)
    assert latest().reason == "policy"
    assert turns.read_by
    assert threading.current_thread() not in turns.read_by


class Nameless:
    def __str__(self) -> str:
        raise RuntimeError("no name")


@pytest.mark.parametrize("session", ["", Nameless()])
def test_a_conversation_without_a_name_is_none(
    trained_on_text: Trained, tmp_path: Path, session: object
) -> None:
    log = tmp_path / "log.jsonl"
    wrapped = RewritingRetriever(rewriter=trained_on_text(log=log), base_retriever=Echo())
    wrapped.invoke(QUERIES[0], {"configurable": {"session_id": session, "thread_id": "t"}})
    [record] = read_records(log)
    assert "session_id" not in record["tags"]
    assert record["tags"]["thread_id"] == "t"
