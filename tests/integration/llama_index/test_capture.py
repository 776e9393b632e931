"""Engines that know nothing of this package, logged as they run."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import get_response_synthesizer
from llama_index.core.indices.query.query_transform.base import BaseQueryTransform
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.dispatcher import (  # type: ignore[attr-defined]
    instrument_tags,
)
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine, TransformQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever, TransformRetriever
from llama_index.core.schema import QueryBundle

from rl_rewriter import RLQueryRewriter
from rl_rewriter.integrations._capture import _MAX_WAITING
from rl_rewriter.integrations.llama_index import QueryRewriteTransform, RewritingRetriever
from rl_rewriter.integrations.llama_index_capture import CaptureHandler
from rl_rewriter.logs.locked_file import locked
from rl_rewriter.logs.store import read_interactions
from rl_rewriter.serving.write_behind import flush_all
from tests.integration.llama_index.parts import (
    QUESTION,
    RecordingRetriever,
    chroma_index,
    found,
    logged,
    of_words,
    simple_index,
)


class Politely(BaseQueryTransform):
    """A rewrite that is not ours."""

    def _run(self, query_bundle: QueryBundle, metadata: dict[str, Any]) -> QueryBundle:
        return QueryBundle(f"{query_bundle.query_str} please")

    def _get_prompts(self) -> dict[str, Any]:
        return {}

    def _update_prompts(self, prompts: Any) -> None:
        pass


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "captured.jsonl"


@pytest.fixture
def handler(log: Path) -> Iterator[CaptureHandler]:
    handler = CaptureHandler(log).attach()
    yield handler
    handler.detach()


def captured(log: Path) -> list[Mapping[str, Any]]:
    assert flush_all(10.0)
    return logged(log) if log.exists() else []


def only(log: Path) -> Mapping[str, Any]:
    [record] = captured(log)
    return record


async def retrieve(retriever: Any, way: str, query: Any = QUESTION) -> Any:
    return await retriever.aretrieve(query) if way == "async" else retriever.retrieve(query)


async def ask(engine: Any, way: str) -> Any:
    return await engine.aquery(QUESTION) if way == "async" else engine.query(QUESTION)


def answering() -> Any:
    return get_response_synthesizer(llm=MockLLM())


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_an_unmodified_engine_over_chroma_is_logged(
    handler: CaptureHandler, log: Path, way: str
) -> None:
    index = chroma_index()
    engine = RetrieverQueryEngine(index.as_retriever(similarity_top_k=3), answering())

    with instrument_tags({"session_id": "c", "trace_id": "t"}):
        answer = await ask(engine, way)

    record = only(log)
    assert (record["query"], record["action"], record["texts"]) == (QUESTION, "keep", [QUESTION])
    assert (record["reason"], record["policy_name"]) == ("captured", "llama-index")
    assert (record["propensity"], record["probabilities"]) == (None, {})
    expected = [(name, score) for name, score, _ in found(answer.source_nodes)]
    assert [(d["id"], d["score"]) for d in record["documents"]] == expected
    assert record["id"].startswith("VectorIndexRetriever.")
    assert record["latency_ms"] > 0
    assert record["tags"]["session_id"] == "c"
    assert record["tags"]["trace_id"] == "t"
    assert (handler.capture.captured, handler.capture.failures) == (1, 0)
    assert len(handler.capture.runs) == 0


@pytest.mark.parametrize("target", ["span", "trace"])
def test_feedback_by_span_or_by_trace_joins_later(
    handler: CaptureHandler, log: Path, target: str
) -> None:
    with instrument_tags({"trace_id": "t"}):
        RecordingRetriever().retrieve(QUESTION)

    handler.feedback("t" if target == "trace" else only(log)["id"], 1, "click", document_id="n")

    [entry] = read_interactions(log)
    assert [(f.kind, f.value, f.document_id) for f in entry.feedback] == [("click", 1.0, "n")]


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("use_async", [False, True])
async def test_a_fusion_counts_once(
    handler: CaptureHandler, log: Path, way: str, use_async: bool
) -> None:
    index = simple_index()
    fusion = QueryFusionRetriever(
        [index.as_retriever(similarity_top_k=2), index.as_retriever(similarity_top_k=3)],
        llm=MockLLM(),
        num_queries=1,
        use_async=use_async and way == "sync",
    )

    nodes = await retrieve(fusion, way)

    record = only(log)
    assert record["id"].startswith("QueryFusionRetriever.")
    assert (record["action"], record["texts"]) == ("keep", [QUESTION])
    assert [d["id"] for d in record["documents"]] == [name for name, _, _ in found(nodes)]


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_an_engine_that_rewrites_the_question_shows_both_texts(
    handler: CaptureHandler, log: Path, way: str
) -> None:
    inner = RetrieverQueryEngine(RecordingRetriever(), answering())

    await ask(TransformQueryEngine(inner, Politely()), way)

    record = only(log)
    assert (record["query"], record["texts"]) == (QUESTION, [f"{QUESTION} please"])
    assert record["action"] == "captured:rewrite"


def test_a_retriever_that_rewrites_shows_both_texts(handler: CaptureHandler, log: Path) -> None:
    TransformRetriever(RecordingRetriever(), Politely()).retrieve(QUESTION)
    record = only(log)
    assert (record["query"], record["texts"]) == (QUESTION, [f"{QUESTION} please"])


def test_without_spans_every_retriever_counts(log: Path) -> None:
    handler = CaptureHandler(log)
    dispatcher = get_dispatcher()
    dispatcher.add_event_handler(handler)
    try:
        TransformRetriever(RecordingRetriever(), Politely()).retrieve(QUESTION)
    finally:
        dispatcher.event_handlers.remove(handler)
    assert [record["query"] for record in captured(log)] == [f"{QUESTION} please", QUESTION]
    assert {record["action"] for record in captured(log)} == {"keep"}


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("action", ["untrained", "keep", "keywords"])
@pytest.mark.parametrize("inside", ["alone", "in an engine", "in a fusion"])
async def test_this_packages_own_retriever_is_logged_once_by_itself(
    handler: CaptureHandler, log: Path, tmp_path: Path, way: str, action: str, inside: str
) -> None:
    own = tmp_path / "own.jsonl"
    rewriter = RLQueryRewriter(log=own) if action == "untrained" else of_words(action, log=own)
    wrapped: Any = RewritingRetriever(rewriter, RecordingRetriever())
    if inside == "in an engine":
        await ask(RetrieverQueryEngine(wrapped, answering()), way)
    else:
        if inside == "in a fusion":
            wrapped = QueryFusionRetriever([wrapped], llm=MockLLM(), num_queries=1, use_async=False)
        await retrieve(wrapped, way)

    assert len(logged(own)) == 1
    assert captured(log) == []
    assert handler.capture.own == 1


@pytest.mark.parametrize("place", ["engine", "retriever"])
def test_this_packages_own_transform_is_logged_by_itself(
    handler: CaptureHandler, log: Path, tmp_path: Path, place: str
) -> None:
    transform = QueryRewriteTransform(of_words("keywords", log=tmp_path / "own.jsonl"))
    if place == "engine":
        inner = RetrieverQueryEngine(RecordingRetriever(), answering())
        TransformQueryEngine(inner, transform).query(QUESTION)
    else:
        TransformRetriever(RecordingRetriever(), transform).retrieve(QUESTION)
    assert captured(log) == []
    assert handler.capture.own == 1


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_a_log_that_fails_stops_no_engine_and_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, way: str
) -> None:
    folder = tmp_path / "log"
    folder.mkdir()
    handler = CaptureHandler(folder).attach()
    try:
        with caplog.at_level(logging.WARNING):
            for _ in range(3):
                assert len(await retrieve(RecordingRetriever(), way)) == 1
            assert handler.flush(10.0)
    finally:
        handler.detach()
    assert (handler.capture.captured, handler.capture.failures) == (0, 3)
    assert caplog.text.count("was not captured") == 1


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_a_log_that_hangs_holds_no_engine_up(
    handler: CaptureHandler, log: Path, way: str
) -> None:
    """Another process holds the file's lock meanwhile, as where a network drive hangs."""
    with locked(log):
        for number in range(_MAX_WAITING + 3):
            await retrieve(RecordingRetriever(), way, str(number))
        assert not handler.flush(0.0)
        assert (handler.capture.captured, handler.capture.dropped) == (0, 3)
    assert [record["query"] for record in captured(log)] == list(map(str, range(_MAX_WAITING)))
    assert (handler.capture.captured, handler.capture.failures) == (_MAX_WAITING, 0)


def test_a_retriever_that_fails_fails_as_before_and_leaves_nothing(
    handler: CaptureHandler, log: Path
) -> None:
    def fail(_: str) -> Any:
        raise ConnectionError("down")

    with pytest.raises(ConnectionError, match="down"):
        RecordingRetriever(fail).retrieve(QUESTION)
    assert captured(log) == []
    assert len(handler.capture.runs) == 0


async def test_concurrent_tasks_do_not_mix(handler: CaptureHandler, log: Path) -> None:
    retriever = TransformRetriever(RecordingRetriever(), Politely())
    queries = [uuid.uuid4().hex for _ in range(10)]
    await asyncio.gather(*(asyncio.to_thread(retriever.retrieve, q) for q in queries))
    assert {(r["query"], *r["texts"]) for r in captured(log)} == {
        (query, f"{query} please") for query in queries
    }


def test_detached_it_hears_nothing(log: Path) -> None:
    handler = CaptureHandler(log).attach()
    handler.detach()
    handler.detach()
    RecordingRetriever().retrieve(QUESTION)
    assert captured(log) == []


@pytest.mark.parametrize("privacy", ["hash", "none"])
def test_words_stay_out_of_the_log(log: Path, privacy: Any) -> None:
    handler = CaptureHandler(log, log_queries=privacy).attach()
    try:
        TransformRetriever(RecordingRetriever(), Politely()).retrieve("my secret?")
    finally:
        handler.detach()
    assert len(captured(log)) == 1
    assert "secret" not in log.read_text()


def test_a_missing_package_is_named_with_the_line_that_installs_it() -> None:
    code = (
        "import sys\n"
        "sys.modules['llama_index.core.base.base_retriever'] = None\n"
        "from rl_rewriter.errors import MissingExtraError\n"
        "try:\n"
        "    import rl_rewriter.integrations.llama_index_capture\n"
        "except MissingExtraError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    expected = 'llama-index-core is not installed; run: pip install "rl-rewriter[llama-index]"'
    assert done.stdout.strip() == expected
