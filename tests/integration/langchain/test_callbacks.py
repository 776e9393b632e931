"""Callbacks see runs, tags and ids as they would without the wrapper; the log has the run's id."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig, RunnableLambda

from rl_rewriter import RLQueryRewriter
from rl_rewriter.integrations.langchain import QueryRewriteRunnable, RewritingRetriever
from rl_rewriter.logs.store import read_interactions
from tests.integration.langchain.parts import Echo, Recorder, Trained, latest
from tests.support import QUERIES

CASES = ["untrained", "keep", "keywords", "keywords@0.5", "fuse_bm25@0.4"]


@pytest.mark.parametrize("action", CASES)
async def test_the_inner_run_looks_like_the_bare_retrievers(
    store: Any, trained: Trained, action: str
) -> None:
    rewriter = RLQueryRewriter() if action == "untrained" else trained(action)
    base = store.as_retriever(name="pages", metadata={"owner": "base"}, tags=["store"])
    wrapped = RewritingRetriever(
        rewriter=rewriter, base_retriever=base, tags=["outer"], metadata={"owner": "outer"}
    )
    bare, ours = Recorder(), Recorder()
    caller: RunnableConfig = {"tags": ["caller"], "metadata": {"session_id": "s1"}}
    base.invoke(QUERIES[0], {**caller, "callbacks": [bare]})

    wrapped.invoke(QUERIES[0], {**caller, "callbacks": [ours]})
    await wrapped.ainvoke(QUERIES[0], {**caller, "callbacks": [ours]})

    [plain] = bare.started
    for outer, inner in (ours.started[:2], ours.started[2:]):
        assert (outer["query"], outer["parent_run_id"]) == (QUERIES[0], None)
        assert inner["query"] == latest().rewrite.text
        assert inner["parent_run_id"] == outer["run_id"]
        assert inner["name"] == plain["name"] == "pages"
        assert sorted(inner["tags"]) == sorted(plain["tags"]) == ["caller", "store"]
        assert set(outer["tags"]) == {"caller", "outer"}
        assert inner["metadata"] == plain["metadata"]
        assert outer["metadata"]["session_id"] == "s1"
    assert [ids for _, ids in ours.ended[0::2]] == [ids for _, ids in ours.ended[1::2]]


@pytest.mark.parametrize("action", CASES)
@pytest.mark.parametrize("given", ["keyword", "config", "none"])
async def test_the_decision_has_the_runs_id_and_is_logged_with_the_documents(
    store: Any, trained: Trained, tmp_path: Path, action: str, given: str
) -> None:
    log = tmp_path / "decisions.jsonl"
    rewriter = RLQueryRewriter(log=log) if action == "untrained" else trained(action, log=log)
    wrapped = RewritingRetriever(
        rewriter=rewriter, base_retriever=store.as_retriever(), tag_documents=True
    )
    recorder, asked = Recorder(), uuid.uuid4()
    config: RunnableConfig = {"callbacks": [recorder]}
    kwargs: dict[str, Any] = {"run_id": asked} if given == "keyword" else {}
    if given == "config":
        config["run_id"] = asked

    found = wrapped.invoke(QUERIES[0], config, **kwargs)

    run_id = str(recorder.started[0]["run_id"])
    assert given == "none" or run_id == str(asked)
    assert latest().id == run_id
    assert {d.metadata["rl_rewriter_decision_id"] for d in found} == {run_id}
    rewriter.feedback(run_id, 1.0, kind="thumb", document_id=found[0].id)
    [entry] = read_interactions(log)
    assert entry.decision["id"] == run_id
    assert entry.decision["query"] == QUERIES[0]
    assert entry.decision["action"] == latest().action
    assert [d["id"] for d in entry.decision["documents"]] == [d.id for d in found]
    scores = [d["score"] for d in entry.decision["documents"]]
    if None in scores:  # the bare retriever tells none
        assert set(scores) == {None}
    else:
        assert scores == sorted(scores, reverse=True)
    assert entry.feedback[0].document_id == found[0].id
    await wrapped.ainvoke(QUERIES[0])
    assert len(read_interactions(log)) == 2


def test_exploration_is_logged_with_its_propensity(
    store: Any, trained: Trained, tmp_path: Path
) -> None:
    log = tmp_path / "decisions.jsonl"
    wrapped = RewritingRetriever(
        rewriter=trained("fuse_bm25@0.4", log=log, seed=3),
        base_retriever=store.as_retriever(),
        explore=True,
    )
    for _ in range(60):
        wrapped.invoke(QUERIES[0])

    decisions = [entry.decision for entry in read_interactions(log)]
    assert len({decision["action"] for decision in decisions}) > 1
    for decision in decisions:
        assert decision["explored"]
        assert decision["propensity"] == decision["probabilities"][decision["action"]] > 0
        assert sum(decision["probabilities"].values()) == pytest.approx(1.0)


def test_documents_without_ids_are_logged_by_a_digest_and_never_by_text(
    trained_on_text: Trained, tmp_path: Path
) -> None:
    log = tmp_path / "decisions.jsonl"
    base = Echo()
    wrapped = RewritingRetriever(rewriter=trained_on_text(log=log), base_retriever=base)
    [document] = wrapped.invoke(QUERIES[0])
    nameless = document.model_copy(update={"id": None, "page_content": "a secret"})
    wrapped = RewritingRetriever(
        rewriter=trained_on_text(log=log), base_retriever=Echo(document=nameless)
    )

    wrapped.invoke(QUERIES[0])
    wrapped.invoke(QUERIES[1])

    first, second = (json.loads(line)["documents"] for line in log.read_text().splitlines()[1:])
    assert first == second
    assert len(first[0]["id"]) == 16
    assert "secret" not in log.read_text()


async def test_the_steps_run_carries_its_decision(trained_on_text: Trained, tmp_path: Path) -> None:
    log = tmp_path / "decisions.jsonl"
    step = QueryRewriteRunnable(rewriter=trained_on_text(log=log))
    asked = [uuid.uuid4(), uuid.uuid4()]

    step.invoke(QUERIES[0], {"run_id": asked[0]})
    assert latest().id == str(asked[0])
    await step.ainvoke(QUERIES[0], {"run_id": asked[1]})
    assert latest().id == str(asked[1])

    logged = [entry.decision["id"] for entry in read_interactions(log)]
    assert logged == [str(run_id) for run_id in asked]


def test_feedback_about_the_run_around_it_finds_the_decision(
    store: Any, trained: Trained, tmp_path: Path
) -> None:
    log = tmp_path / "decisions.jsonl"
    rewriter = trained("keywords", log=log)
    wrapped = RewritingRetriever(
        rewriter=rewriter, base_retriever=store.as_retriever(), explore=True
    )
    chain, asked = RunnableLambda(lambda text: text) | wrapped, uuid.uuid4()
    chain.invoke(
        QUERIES[0], {"run_id": asked, "metadata": {"session_id": "s1", "other": "not logged"}}
    )
    rewriter.feedback(str(asked), 1.0, kind="thumb")
    [interaction] = read_interactions(log)
    assert interaction.decision["tags"] == {
        "run_id": interaction.decision["id"],
        "parent_run_id": str(asked),
        "session_id": "s1",
    }
    [outcome] = interaction.feedback
    assert (outcome.kind, outcome.value) == ("thumb", 1.0)
