"""Async calls leave the event loop free, whatever the wrapped retriever does."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from rl_rewriter import RLQueryRewriter
from rl_rewriter.integrations.langchain import (
    QueryRewriteRunnable,
    RewritingRetriever,
    create_history_aware_rewriting_retriever,
)
from tests.integration.langchain.parts import Echo, Trained, latest
from tests.support import QUERIES, Gate


@pytest.mark.parametrize("trained_one", [False, True])
async def test_a_slow_base_blocks_nothing(trained_on_text: Trained, trained_one: bool) -> None:
    rewriter = trained_on_text() if trained_one else RLQueryRewriter()
    first, second = Gate(), Gate()
    wrapped = RewritingRetriever(rewriter=rewriter, base_retriever=Echo(before=first.wait))
    aware = create_history_aware_rewriting_retriever(rewriter, Echo(before=second.wait))
    expected = "money back card" if trained_one else QUERIES[0]

    [found] = await first.opened(wrapped.ainvoke(QUERIES[0]))
    assert found.page_content == expected
    [found] = await second.opened(aware.ainvoke({"input": QUERIES[0]}))
    assert found.page_content == expected


@pytest.mark.parametrize("action", ["untrained", "keep", "keywords", "fuse_bm25@0.4"])
async def test_a_slow_embedder_blocks_nothing(
    store: Any, trained: Trained, action: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewriter = RLQueryRewriter() if action == "untrained" else trained(action)
    wrapped = RewritingRetriever(rewriter=rewriter, base_retriever=store.as_retriever())
    embed, gate = store.embeddings.embed_query, Gate()

    def slowly(text: str) -> Any:
        gate.wait()
        return embed(text)

    monkeypatch.setattr(store.embeddings, "embed_query", slowly)

    found = await gate.opened(wrapped.ainvoke(QUERIES[0]))
    assert found == wrapped.invoke(QUERIES[0])
    assert latest().reason == ("untrained" if action == "untrained" else "policy")


async def test_a_slow_decision_blocks_nothing(
    trained_on_text: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewriter, gate = trained_on_text("keywords"), Gate()
    decide = rewriter.plan

    def slowly(*args: Any, **kwargs: Any) -> Any:
        gate.wait()
        return decide(*args, **kwargs)

    monkeypatch.setattr(rewriter, "plan", slowly)
    step = QueryRewriteRunnable(rewriter=rewriter)

    assert await gate.opened(step.ainvoke(QUERIES[0])) == "money back card"


async def test_concurrent_calls_keep_their_own_decisions(trained_on_text: Trained) -> None:
    wrapped = RewritingRetriever(
        rewriter=trained_on_text(), base_retriever=Echo(before=lambda: time.sleep(0.01))
    )

    async def ask(query: str) -> bool:
        await wrapped.ainvoke(query)
        return latest().query.text == query

    assert all(await asyncio.gather(*(ask(query) for query in QUERIES * 5)))
