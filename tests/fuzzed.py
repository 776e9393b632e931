"""All ways into the rewriter over one small collection, each beside the bare retriever."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
from langchain_chroma import Chroma
from langchain_core.embeddings import Embeddings
from llama_index.core import VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters
from llama_index.vector_stores.chroma import ChromaVectorStore

from rl_rewriter import Query, Rewrite, RLQueryRewriter
from rl_rewriter.integrations import langchain, llama_index
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.policies.starting import starting_checkpoint
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.serving.breaker import BreakerConfig
from rl_rewriter.serving.limits import Budget
from rl_rewriter.types import Filters, RewriteDecision
from tests.support import DOCUMENTS, chroma_collection

WHERE = {"tenant": "a"}
HISTORY = ("Which cards do you take?", "All of them.", "And vouchers?", "One an order.")
_DIMENSIONS = 32


class StrictEmbedder(Embeddings):
    """Counts words in buckets; like most tokenizers it can't take a lone surrogate."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        vector = np.full(_DIMENSIONS, 0.01)
        for word, count in Counter(text.lower().encode("utf-8").split()).items():
            vector[zlib.crc32(word) % _DIMENSIONS] += count
        return (vector / np.linalg.norm(vector)).tolist()  # type: ignore[no-any-return]  # floats


class StrictEmbedding(BaseEmbedding):
    """The same for LlamaIndex."""

    def _get_query_embedding(self, query: str) -> list[float]:
        return StrictEmbedder().embed_query(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return StrictEmbedder().embed_query(text)


@dataclass
class Counts:
    """What came of many questions."""

    asked: int = 0
    actions: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    shared_errors: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


Ask = Callable[[str], set[str]]
"""From a question to the tenants whose documents came back."""


class Fuzzed:
    """A collection of two tenants, and a policy that draws every action equally often.

    Failures of the embedder open no circuit here: each question is tried.

    Args:
        log: Where decisions are logged.
    """

    def __init__(self, log: Path) -> None:
        tenants = [{"tenant": "ab"[row % 2]} for row in range(len(DOCUMENTS))]
        self.collection = chroma_collection({})
        self.collection.add(
            ids=list(DOCUMENTS),
            documents=list(DOCUMENTS.values()),
            embeddings=StrictEmbedder().embed_documents(list(DOCUMENTS.values())),
            metadatas=tenants,
        )
        self.retriever = chroma_retriever(self.collection, StrictEmbedder())
        self.checkpoint = self._uniform()
        self.log = log
        self.rewriter = RLQueryRewriter(
            self.retriever,
            checkpoint=self.checkpoint,
            log=log,
            seed=0,
            budget=Budget(seconds=60.0),
            breaker=BreakerConfig(failures=None),
        )
        self.counts = Counts()
        self.loop = asyncio.new_event_loop()
        self.ways: Mapping[str, tuple[Ask, Ask]] = {
            "python": (self._python, self._bare_python),
            **self._over_langchain(),
            **self._over_llama_index(),
        }

    def ask(self, way: str, text: str) -> None:
        """One question; what isn't as it should be is among ``counts.problems``."""
        ask, bare = self.ways[way]
        self.counts.asked += 1
        with recorded_searches() as searches:
            try:
                seen = ask(text)
            except Exception as error:
                self._expect(bare, way, text, error)
                return
        if seen - {"a"}:
            self._problem(way, text, f"documents of {sorted(seen)}")
        given = {"tenant": {"$eq": "a"}} if way.startswith("llama") else WHERE
        if any(search != given for search in searches):
            self._problem(way, text, f"searched within {searches}")

    def check_log(self) -> int:
        """Number of decisions in the log, each line read by itself."""
        lines = self.log.read_bytes().split(b"\n")
        assert lines.pop() == b""
        return sum(json.loads(line)["type"] == "decision" for line in lines)

    def _expect(self, bare: Ask, way: str, text: str, error: Exception) -> None:
        try:
            bare(text)
        except type(error):
            self.counts.shared_errors[type(error).__name__] += 1
        except Exception as other:
            self._problem(way, text, f"{error!r} where the bare retriever says {other!r}")
        else:
            self._problem(way, text, f"{error!r} where the bare retriever answers")

    def _problem(self, way: str, text: str, what: str) -> None:
        self.counts.problems.append(f"{way}: {text[:80]!r}: {what}"[:600])

    def _count(self, decision: RewriteDecision | None) -> None:
        assert decision is not None
        self.counts.actions[decision.action] += 1
        self.counts.reasons[decision.reason] += 1

    def _uniform(self) -> Checkpoint:
        """Every action as probable as every other."""
        n_actions = len(starting_checkpoint(self.retriever).actions)
        return starting_checkpoint(self.retriever, keep=1.0 / n_actions)

    def _python(self, text: str) -> set[str]:
        found = self.rewriter.retrieve(
            text, k=4, filters=Filters(WHERE), history=HISTORY, explore=True
        )
        self._count(found.decision)
        self.rewriter.record(found.decision, found.ranking)
        return {str((told or {}).get("tenant")) for told in found.ranking.metadatas or ()}

    def _bare_python(self, text: str) -> set[str]:
        self.retriever.search([Rewrite.keep(Query(text))], k=4, filters=[Filters(WHERE)])
        return set()

    def _over_langchain(self) -> dict[str, tuple[Ask, Ask]]:
        store = Chroma(
            collection_name=self.collection.name,
            client=chromadb.EphemeralClient(),
            embedding_function=StrictEmbedder(),
            create_collection_if_not_exists=False,
        )
        base = store.as_retriever(search_kwargs={"filter": WHERE})
        wrapped = langchain.RewritingRetriever(
            rewriter=self.rewriter, base_retriever=base, explore=True
        )

        def sync(text: str) -> set[str]:
            found = wrapped.invoke(text, history=HISTORY)
            self._count(langchain.last_decision.get())
            return {document.metadata["tenant"] for document in found}

        async def asynchronous(text: str) -> set[str]:
            found = await wrapped.ainvoke(text, history=HISTORY)
            self._count(langchain.last_decision.get())
            return {document.metadata["tenant"] for document in found}

        def bare(text: str) -> set[str]:
            return {document.metadata["tenant"] for document in base.invoke(text)}

        return {
            "langchain": (sync, bare),
            "langchain_async": (lambda text: self._run(asynchronous(text)), bare),
        }

    def _over_llama_index(self) -> dict[str, tuple[Ask, Ask]]:
        index = VectorStoreIndex.from_vector_store(
            ChromaVectorStore.from_collection(self.collection), embed_model=StrictEmbedding()
        )
        only = MetadataFilters(filters=[MetadataFilter(key="tenant", value="a")])
        base = index.as_retriever(similarity_top_k=4, filters=only)
        wrapped = llama_index.RewritingRetriever(self.rewriter, base, explore=True)

        def tenants(nodes: Any) -> set[str]:
            return {node.node.metadata["tenant"] for node in nodes}

        def sync(text: str) -> set[str]:
            with llama_index.chat_history(HISTORY):
                nodes = wrapped.retrieve(text)
            self._count(llama_index.last_decision.get())
            return tenants(nodes)

        async def asynchronous(text: str) -> set[str]:
            with llama_index.chat_history(HISTORY):
                nodes = await wrapped.aretrieve(text)
            self._count(llama_index.last_decision.get())
            return tenants(nodes)

        return {
            "llama_index": (sync, lambda text: tenants(base.retrieve(text))),
            "llama_index_async": (
                lambda text: self._run(asynchronous(text)),
                lambda text: tenants(base.retrieve(text)),
            ),
        }

    def _run(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)


@contextmanager
def recorded_searches() -> Iterator[list[Any]]:
    """The ``where`` of every search that reaches Chroma; a ``where_document`` counts as another."""
    made: list[Any] = []
    query, get = chromadb.Collection.query, chromadb.Collection.get

    def watched_query(self: Any, *args: Any, **settings: Any) -> Any:
        made.append(settings.get("where_document") or settings.get("where"))
        return query(self, *args, **settings)

    def watched_get(self: Any, *args: Any, **settings: Any) -> Any:
        if settings.get("where") or settings.get("where_document"):
            made.append(settings.get("where_document") or settings.get("where"))
        return get(self, *args, **settings)

    chromadb.Collection.query, chromadb.Collection.get = watched_query, watched_get  # type: ignore[method-assign]  # put back below
    try:
        yield made
    finally:
        chromadb.Collection.query, chromadb.Collection.get = query, get  # type: ignore[method-assign]  # as it was
