"""Both adapters, sync and async, over real Chroma, while one dependency a request goes wrong."""

from __future__ import annotations

import asyncio
import contextvars
import shutil
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import chromadb
from langchain_chroma import Chroma
from langchain_core.embeddings import Embeddings
from llama_index.core import VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.schema import TextNode
from llama_index.vector_stores.chroma import ChromaVectorStore

from rl_rewriter import RLQueryRewriter
from rl_rewriter.errors import CheckpointError
from rl_rewriter.integrations import langchain, llama_index
from rl_rewriter.logs.store import read_records
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.serving.breaker import BreakerConfig
from rl_rewriter.serving.limits import Budget
from rl_rewriter.types import RewriteDecision
from tests.chaos import (
    CURRENT,
    FAULTS,
    ChaosDeployment,
    ChaosEmbedder,
    ChaosLog,
    ChaosSwitch,
    Fault,
    Told,
    chaos_checkpoints,
)
from tests.support import DOCUMENTS, chroma_collection, fixed_checkpoint

WAYS = ("langchain", "langchain async", "llama_index", "llama_index async")
K = 4


class ForLangChain(ChaosEmbedder, Embeddings):
    """The embedder as LangChain's."""


class ForLlamaIndex(BaseEmbedding):
    """The embedder as LlamaIndex's."""

    _embedder: ChaosEmbedder = PrivateAttr(default_factory=ChaosEmbedder)

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._embedder.embed_query(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        [vector] = self._embedder.embed_documents([text])
        return vector


@dataclass
class Outcome:
    """What came of one request.

    Attributes:
        fault: What went wrong in it.
        decision: What was decided.
        seconds: What the call took beyond the wrapped retriever's own embedding and search.
        is_bases: Whether the documents are those of the bare retriever.
        n_documents: How many there are.
    """

    fault: Fault
    decision: RewriteDecision
    seconds: float
    is_bases: bool
    n_documents: int


class Way:
    """One adapter in one mode, with rewriters, a log and listeners of its own.

    Args:
        name: One of :data:`WAYS`.
        folder: An empty folder.
        budget: Limits of a request.
        breaker: When circuits open; never by default, so that each fault is met.
    """

    def __init__(
        self, name: str, folder: Path, budget: Budget, breaker: BreakerConfig | None = None
    ) -> None:
        self.name, self.is_async = name, name.endswith("async")
        self.told = Told()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "KILL").touch()
        self.log = ChaosLog(folder / "decisions.jsonl")
        settings: dict[str, Any] = {
            "log": self.log,
            "budget": budget,
            "breaker": breaker or BreakerConfig(failures=None),
            "listeners": (self.told.keep, self.told.go_wrong),
            "kill_switch": ChaosSwitch(folder / "KILL"),
        }
        is_langchain = name.startswith("langchain")
        self._base = _langchain_base() if is_langchain else _llama_index_base()
        retriever = _ours_over(self._base)
        deployment = ChaosDeployment(chaos_checkpoints(retriever))
        self._rewriters = {"": RLQueryRewriter(deployment=deployment, **settings)}
        plain = RLQueryRewriter(checkpoint=fixed_checkpoint(retriever, "keywords"))
        for how in FAULTS["reload"]:
            plain.save(folder / how)
            self._rewriters[how] = RLQueryRewriter.load(folder / how, **settings)
        shutil.rmtree(folder / "missing")
        (folder / "rubbish" / "policy.safetensors").write_bytes(b"rubbish")
        self._wrapped: dict[str, Any] = {
            how: langchain.RewritingRetriever(rewriter=rewriter, base_retriever=self._base)
            if is_langchain
            else llama_index.RewritingRetriever(rewriter, self._base)
            for how, rewriter in self._rewriters.items()
        }
        self._last: Any = (langchain if is_langchain else llama_index).last_decision

    def warm_up(self) -> None:
        """Until the BM25 index is there."""
        for how in self._wrapped:
            until = time.monotonic() + 30
            while time.monotonic() < until:
                self._call("which card pays", how)
                if self._last.get().reason == "policy":
                    break
        self.told.served.clear()

    def wait_for_listeners(self, n: int) -> None:
        """Until so many requests are told, or it takes too long: a late one is told by itself."""
        until = time.monotonic() + 5
        while len(self.told.served) < n and time.monotonic() < until:
            time.sleep(0.01)

    def counted(self) -> dict[str, Counter[str]]:
        """Reasons and events that the rewriters counted so far."""
        tables = [rewriter.counters for rewriter in self._rewriters.values()]
        return {
            name: sum((Counter(table[name]) for table in tables), Counter())
            for name in ("reasons", "events")
        }

    def logged(self) -> list[Any]:
        """Decision records on file."""
        return [record for record in read_records(self.log.path) if record["type"] == "decision"]

    def ask_all(self, faults: Sequence[Fault], at_once: int, *, first: int = 0) -> list[Outcome]:
        """Each fault in a request of its own, several at a time; texts are all different.

        Args:
            faults: What goes wrong.
            at_once: How many requests run at a time.
            first: Number of the first text.
        """
        asked = [(f"which card pays for parcel {first + n}?", f) for n, f in enumerate(faults)]
        if not self.is_async:
            with ThreadPoolExecutor(at_once, thread_name_prefix="caller") as pool:
                return list(pool.map(self._asked_in_a_context, asked))
        return asyncio.run(self._all_asked(asked, at_once))

    def _asked_in_a_context(self, asked: tuple[str, Fault]) -> Outcome:
        return contextvars.Context().run(self._ask, *asked)

    async def _all_asked(self, asked: Sequence[tuple[str, Fault]], at_once: int) -> list[Outcome]:
        gate = asyncio.Semaphore(at_once)

        async def one(text: str, fault: Fault) -> Outcome:
            async with gate:
                return await self._aask(text, fault)

        return list(await asyncio.gather(*(one(*each) for each in asked)))

    def _ask(self, text: str, fault: Fault) -> Outcome:
        expected = self._documents(self._bare(text))
        CURRENT.set(fault)
        how = self._reloaded(fault)
        started = time.perf_counter()
        found = self._call(text, how)
        return self._outcome(fault, time.perf_counter() - started, found, expected)

    async def _aask(self, text: str, fault: Fault) -> Outcome:
        expected = self._documents(await asyncio.to_thread(self._bare, text))
        CURRENT.set(fault)
        how = self._reloaded(fault)
        started = time.perf_counter()
        found = await self._acall(text, how)
        return self._outcome(fault, time.perf_counter() - started, found, expected)

    def _outcome(self, fault: Fault, seconds: float, found: Any, expected: Any) -> Outcome:
        fault.over.set()
        CURRENT.set(None)
        decision = self._last.get()
        is_bases = self._documents(found) == expected
        return Outcome(fault, decision, seconds - fault.base_seconds, is_bases, len(found))

    def _reloaded(self, fault: Fault) -> str:
        """Try to read the policy again, where that is what goes wrong; which rewriter to ask."""
        if fault.where != "reload":
            return ""
        fault.hit = True
        rewriter = self._rewriters[fault.how]
        if fault.how == "slow":
            run = contextvars.copy_context().run
            threading.Thread(target=run, args=(rewriter.reload,), daemon=True).start()
            return fault.how
        try:
            rewriter.reload()
        except CheckpointError:
            return fault.how
        raise AssertionError("a damaged policy was loaded")

    def _bare(self, text: str) -> Any:
        ask: Callable[[str], Any] = getattr(self._base, "invoke", None) or self._base.retrieve
        return ask(text)

    def _call(self, text: str, how: str) -> Any:
        wrapped = self._wrapped[how]
        ask: Callable[[str], Any] = getattr(wrapped, "invoke", None) or wrapped.retrieve
        return ask(text)

    async def _acall(self, text: str, how: str) -> Any:
        wrapped = self._wrapped[how]
        ask: Callable[[str], Awaitable[Any]] = (
            getattr(wrapped, "ainvoke", None) or wrapped.aretrieve
        )
        return await ask(text)

    def _documents(self, found: Any) -> list[tuple[Any, ...]]:
        if self.name.startswith("langchain"):
            return [(one.id, one.page_content, one.metadata) for one in found]
        return [(one.node.node_id, one.score, one.node.get_content()) for one in found]


def problems_of(outcomes: Sequence[Outcome]) -> Counter[str]:
    """What isn't as it should be, and how often; a request that was late is late by its reason."""
    found: Counter[str] = Counter()
    for outcome in outcomes:
        fault, reason = outcome.fault, outcome.decision.reason
        kind = f"{fault.where} {fault.how}".strip()
        if reason != fault.reason:
            found[f"{kind}: {reason} instead of {fault.reason}"] += 1
        if (fault.keeps or reason.startswith("fallback:")) and not outcome.is_bases:
            found[f"{kind}: other documents than the wrapped retriever's"] += 1
        if outcome.n_documents != K:
            found[f"{kind}: {outcome.n_documents} documents"] += 1
    return found


def uncounted(way: Way, outcomes: Sequence[Outcome], before: Counter[str]) -> Counter[str]:
    """Reasons whose counts differ from what the requests were told."""
    told = Counter(outcome.decision.reason for outcome in outcomes)
    counted = way.counted()["reasons"]
    counted.subtract(before)
    counted.subtract(told)
    return Counter({reason: n for reason, n in counted.items() if n})


def unlogged(way: Way, outcomes: Sequence[Outcome]) -> tuple[list[str], list[str]]:
    """What is wrong with the log, and which kept queries it misses since there was no time left.

    Wrong are records that are missing, doubled, of another reason, or that should be none. A query
    that is kept since something else failed keeps that reason where its record comes too late.
    """
    told = {outcome.decision.id: outcome.decision.reason for outcome in outcomes}
    records = [record for record in way.logged() if record["id"] in told]
    written = {record["id"]: record["reason"] for record in records}
    missing = [name for name in told.keys() - written.keys()]
    late = [name for name in missing if told[name].startswith("fallback:")]
    wrong = [name for name in missing if name not in late]
    wrong += [name for name, reason in written.items() if reason != told[name]]
    wrong += [f"{len(records) - len(written)} doubled"] * (len(records) > len(written))
    return wrong, [name for name in late if told[name] != "fallback:log_write"]


def _langchain_base() -> Any:
    embedder = ForLangChain()
    collection = chroma_collection(DOCUMENTS, embedder)
    store = Chroma(
        collection_name=collection.name,
        client=chromadb.EphemeralClient(),
        embedding_function=embedder,
        create_collection_if_not_exists=False,
    )
    return store.as_retriever(search_kwargs={"k": K})


def _llama_index_base() -> Any:
    collection = chroma_collection({})
    store = ChromaVectorStore.from_collection(collection)
    vectors = ChaosEmbedder().embed_documents(list(DOCUMENTS.values()))
    rows = zip(DOCUMENTS.items(), vectors, strict=True)
    store.add([TextNode(id_=name, text=text, embedding=v) for (name, text), v in rows])
    index = VectorStoreIndex.from_vector_store(store, embed_model=ForLlamaIndex())
    return index.as_retriever(similarity_top_k=K)


def _ours_over(base: Any) -> Any:
    if hasattr(base, "vectorstore"):
        return chroma_retriever(base.vectorstore._collection, base.vectorstore.embeddings)
    return chroma_retriever(base._vector_store.client, base._embed_model)
