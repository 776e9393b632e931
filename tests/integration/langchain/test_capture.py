"""Chains that know nothing of this package, logged as they run."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import threading
import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.tools import create_retriever_tool

from rl_rewriter import DecisionLog, RLQueryRewriter
from rl_rewriter.errors import InputError
from rl_rewriter.integrations._capture import _MAX_WAITING
from rl_rewriter.integrations.langchain import QueryRewriteRunnable, RewritingRetriever
from rl_rewriter.integrations.langchain_capture import CaptureHandler
from rl_rewriter.logs.locked_file import locked
from rl_rewriter.logs.store import read_interactions, read_records
from rl_rewriter.serving.write_behind import flush_all
from tests.integration.langchain.parts import Echo, Trained
from tests.support import QUERIES


class Several(BaseRetriever):
    """Asks another retriever several questions and joins what it finds."""

    inner: BaseRetriever
    questions: list[str]

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        config = {"callbacks": run_manager.get_child()}
        found = [self.inner.invoke(q, config) for q in self.questions]  # type: ignore[arg-type]
        return [document for documents in found for document in documents]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        config = {"callbacks": run_manager.get_child()}
        found = await asyncio.gather(
            *(self.inner.ainvoke(q, config) for q in self.questions)  # type: ignore[arg-type]
        )
        return [document for documents in found for document in documents]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "captured.jsonl"


@pytest.fixture
def handler(log: Path) -> CaptureHandler:
    return CaptureHandler(log)


def logged(log: Path) -> list[Mapping[str, Any]]:
    assert flush_all(10.0)
    return [entry.decision for entry in read_interactions(log)] if log.exists() else []


def only(log: Path) -> Mapping[str, Any]:
    [record] = logged(log)
    return record


async def run(chain: Any, value: Any, handler: CaptureHandler, way: str, **config: Any) -> Any:
    """Invoke a chain, sync or async."""
    settings = {"callbacks": [handler], **config}
    return await chain.ainvoke(value, settings) if way == "async" else chain.invoke(value, settings)


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_an_unmodified_chain_over_chroma_is_logged(
    store: Any, handler: CaptureHandler, log: Path, way: str
) -> None:
    retriever = store.as_retriever(search_kwargs={"k": 3})
    chain = {"context": retriever, "question": RunnablePassthrough()} | RunnableLambda(
        lambda given: given["context"]
    )
    asked = uuid.uuid4()

    found = await run(
        chain, QUERIES[0], handler, way, run_id=asked, metadata={"thread_id": "c"}, tags=["shop"]
    )

    record = only(log)
    assert (record["query"], record["action"], record["texts"]) == (
        QUERIES[0],
        "keep",
        [QUERIES[0]],
    )
    assert (record["reason"], record["policy_name"]) == ("captured", "langchain")
    assert (record["propensity"], record["probabilities"]) == (None, {})
    assert [d["id"] for d in record["documents"]] == [document.id for document in found]
    assert record["latency_ms"] > 0
    tags = record["tags"]
    assert (tags["run_id"], tags["trace_id"]) == (record["id"], str(asked))
    assert tags["parent_run_id"] not in (record["id"], str(asked))
    assert (tags["session_id"], tags["source"]) == ("c", "langchain")
    assert "shop" in tags["tags"]
    assert (handler.capture.captured, handler.capture.failures) == (1, 0)


@pytest.mark.parametrize("target", ["retriever", "chain"])
def test_feedback_by_either_run_id_joins_later(
    handler: CaptureHandler, log: Path, target: str
) -> None:
    chain: Any = RunnablePassthrough() | Echo()
    asked = uuid.uuid4()
    chain.invoke("how?", {"callbacks": [handler], "run_id": asked})

    handler.feedback(asked if target == "chain" else only(log)["id"], 1, position=0)

    [entry] = read_interactions(log)
    [feedback] = entry.feedback
    assert (feedback.kind, feedback.value, feedback.position) == ("thumb", 1.0, 0)


def test_feedback_without_a_number_is_refused(handler: CaptureHandler) -> None:
    with pytest.raises(InputError, match="feedback a can't be logged"):
        handler.feedback("a", float("nan"))


@pytest.mark.parametrize(
    ("value", "history"),
    [
        ("and abroad?", 0),
        ({"input": "and abroad?", "chat_history": [HumanMessage("a"), AIMessage("b")]}, 2),
        ({"messages": [HumanMessage("a"), AIMessage("b"), HumanMessage("and abroad?")]}, 2),
    ],
)
@pytest.mark.parametrize("way", ["sync", "async"])
async def test_a_chain_that_rewrites_the_question_shows_both_texts(
    handler: CaptureHandler, log: Path, value: Any, history: int, way: str
) -> None:
    chain: Any = RunnableLambda(lambda _: "delivery abroad") | Echo()

    await run(chain, value, handler, way)

    record = only(log)
    assert (record["query"], record["texts"]) == ("and abroad?", ["delivery abroad"])
    assert (record["action"], record["history_len"]) == ("captured:rewrite", history)


def test_a_retriever_that_an_agent_calls_as_a_tool(handler: CaptureHandler, log: Path) -> None:
    tool = create_retriever_tool(Echo(), "search", "Searches the shop's pages.")
    agent: Any = RunnableLambda(lambda _, config: tool.invoke({"query": "abroad"}, config))
    agent.invoke({"messages": [("user", "and abroad?")]}, {"callbacks": [handler]})
    record = only(log)
    assert (record["query"], record["texts"]) == ("and abroad?", ["abroad"])


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_a_retriever_that_asks_others_counts_once(
    handler: CaptureHandler, log: Path, way: str
) -> None:
    many = Several(inner=Echo(), questions=["refund", "money"])

    await run(many, "how do I get a refund?", handler, way)

    record = only(log)
    assert sorted(record["texts"]) == ["money", "refund"]
    assert [d["id"] for d in record["documents"]] == ["echo:refund", "echo:money"]
    assert record["action"] == "captured:rewrite"


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("action", ["untrained", "keep", "keywords"])
@pytest.mark.parametrize("inside", ["alone", "in a chain", "in another retriever"])
async def test_this_packages_own_retriever_is_logged_once_by_itself(
    trained_on_text: Trained,
    handler: CaptureHandler,
    log: Path,
    tmp_path: Path,
    way: str,
    action: str,
    inside: str,
) -> None:
    own = tmp_path / "own.jsonl"
    rewriter = (
        RLQueryRewriter(log=own) if action == "untrained" else trained_on_text(action, log=own)
    )
    wrapped: Any = RewritingRetriever(rewriter=rewriter, base_retriever=Echo(), name="pages")
    if inside == "in a chain":
        wrapped = RunnablePassthrough() | wrapped.with_config(run_name="renamed")
    elif inside == "in another retriever":
        wrapped = Several(inner=wrapped, questions=[QUERIES[0]])

    await run(wrapped, QUERIES[0], handler, way)

    assert len(logged(own)) == 1
    assert logged(log) == []
    assert handler.capture.own == 1


async def test_the_rewriting_step_is_logged_once_by_itself(
    trained_on_text: Trained, handler: CaptureHandler, log: Path, tmp_path: Path
) -> None:
    own = tmp_path / "own.jsonl"
    chain = QueryRewriteRunnable(rewriter=trained_on_text(log=own)) | Echo()

    chain.invoke(QUERIES[0], {"callbacks": [handler]})
    await chain.ainvoke(QUERIES[0], {"callbacks": [handler]})

    assert len(logged(own)) == 2
    assert logged(log) == []
    assert handler.capture.own == 2


def test_a_retriever_beside_our_own_is_captured(
    trained_on_text: Trained, handler: CaptureHandler, log: Path
) -> None:
    step = QueryRewriteRunnable(rewriter=trained_on_text())
    (step | Echo()).invoke(QUERIES[0], {"callbacks": [handler]})
    Echo().invoke("something else", {"callbacks": [handler]})
    assert only(log)["query"] == "something else"


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_a_log_that_fails_stops_no_chain_and_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, way: str
) -> None:
    folder = tmp_path / "log"
    folder.mkdir()
    handler = CaptureHandler(folder)
    handler.raise_error = True

    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            [document] = await run(Echo(), "how?", handler, way)
            assert document.page_content == "how?"
        assert handler.flush(10.0)

    assert (handler.capture.captured, handler.capture.failures) == (0, 3)
    assert caplog.text.count("was not captured") == 1


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_a_log_that_hangs_holds_no_chain_up_and_what_is_dropped_is_counted(
    handler: CaptureHandler, log: Path, caplog: pytest.LogCaptureFixture, way: str
) -> None:
    """Another process holds the file's lock meanwhile, as where a network drive hangs."""
    with locked(log), caplog.at_level(logging.WARNING):
        for number in range(_MAX_WAITING + 3):
            await run(Echo(), f"how {number}?", handler, way)
        assert not handler.flush(0.0)
        assert (handler.capture.captured, handler.capture.dropped) == (0, 3)
    assert caplog.text.count("was not captured, the log is too slow") == 1
    assert [record["query"] for record in logged(log)] == [
        f"how {number}?" for number in range(_MAX_WAITING)
    ]
    assert handler.capture.captured == _MAX_WAITING
    await run(Echo(), "and now?", handler, way)
    assert logged(log)[-1]["query"] == "and now?"
    assert (handler.capture.dropped, handler.capture.failures) == (3, 0)


def test_feedback_comes_behind_the_decision_that_it_is_about(
    handler: CaptureHandler, log: Path
) -> None:
    asked = uuid.uuid4()
    with ThreadPoolExecutor(1) as pool:
        with locked(log):
            Echo().invoke("how?", {"callbacks": [handler], "run_id": asked})
            giving = pool.submit(handler.feedback, asked, 1)
            wait([giving], timeout=0.1)
        giving.result(timeout=10.0)
    assert [record["type"] for record in read_records(log)] == ["decision", "feedback"]


def test_the_end_of_the_process_waits_for_the_log(log: Path) -> None:
    code = (
        "import sys\n"
        "from langchain_core.runnables import RunnableLambda\n"
        "from rl_rewriter.integrations.langchain_capture import CaptureHandler\n"
        "from tests.integration.langchain.parts import Echo\n"
        "handler = CaptureHandler(sys.argv[1])\n"
        "for number in range(300):\n"
        "    Echo().invoke(str(number), {'callbacks': [handler]})\n"
    )
    subprocess.run([sys.executable, "-c", code, str(log)], check=True, timeout=60)
    assert len(logged(log)) == 300


def test_a_retriever_that_fails_fails_as_before_and_leaves_nothing(
    handler: CaptureHandler, log: Path
) -> None:
    chain: Any = RunnablePassthrough() | Echo(failure=ConnectionError("down"))
    with pytest.raises(ConnectionError, match="down"):
        chain.invoke("how?", {"callbacks": [handler]})
    assert logged(log) == []
    assert len(handler.capture.runs) == 0
    assert handler.capture.failures == 0


def test_threads_do_not_mix(handler: CaptureHandler, log: Path) -> None:
    chain: Any = RunnableLambda(lambda text: f"{text} please") | Echo()
    barrier = threading.Barrier(8)

    def ask(number: int) -> None:
        barrier.wait(timeout=10)
        for turn in range(5):
            chain.invoke(f"{number}-{turn}", {"callbacks": [handler]})

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)

    assert {(r["query"], *r["texts"]) for r in logged(log)} == {
        (f"{n}-{t}", f"{n}-{t} please") for n in range(8) for t in range(5)
    }
    assert len(handler.capture.runs) == 0


async def test_concurrent_tasks_do_not_mix(handler: CaptureHandler, log: Path) -> None:
    chain: Any = RunnableLambda(lambda text: f"{text} please") | Echo()
    await asyncio.gather(*(run(chain, str(n), handler, "async") for n in range(20)))
    assert {(r["query"], *r["texts"]) for r in logged(log)} == {
        (str(n), f"{n} please") for n in range(20)
    }


@pytest.mark.parametrize("privacy", ["hash", "none"])
def test_words_stay_out_of_the_log(log: Path, privacy: Any) -> None:
    for handler in (
        CaptureHandler(log, log_queries=privacy),
        CaptureHandler(DecisionLog(log, log_queries=privacy)),
    ):
        chain: Any = RunnableLambda(lambda _: "my secret") | Echo(document=Document("x"))
        chain.invoke("a secret?", {"callbacks": [handler]})
    assert len(logged(log)) == 2
    assert "secret" not in log.read_text()


def test_documents_without_ids_are_named_by_a_digest(handler: CaptureHandler, log: Path) -> None:
    Echo(document=Document("words", metadata={})).invoke("how?", {"callbacks": [handler]})
    [document] = only(log)["documents"]
    assert document["id"].startswith("text:")
    assert "words" not in log.read_text()


def test_inputs_of_any_kind_are_no_failure(handler: CaptureHandler, log: Path) -> None:
    ring: dict[str, Any] = {}
    ring["ring"] = ring
    chain: Any = RunnableLambda(lambda _: "how?") | Echo()
    for value in (ring, object(), None, [[[[[]]]]], {1: 2}, b"x"):
        chain.invoke(value, {"callbacks": [handler]})
    assert [record["texts"] for record in logged(log)] == [["how?"]] * 6
    assert handler.capture.failures == 0


def test_a_missing_package_is_named_with_the_line_that_installs_it() -> None:
    code = (
        "import sys\n"
        "sys.modules['langchain_core'] = None\n"
        "from rl_rewriter.errors import MissingExtraError\n"
        "try:\n"
        "    import rl_rewriter.integrations.langchain_capture\n"
        "except MissingExtraError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    expected = 'langchain-core is not installed; run: pip install "rl-rewriter[langchain]"'
    assert done.stdout.strip() == expected
