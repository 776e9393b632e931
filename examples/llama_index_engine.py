"""A LlamaIndex engine with a wrapped retriever; untrained where no policy's folder is given."""

import json
import sys
import zlib
from pathlib import Path
from typing import Any

import chromadb
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import TextNode
from llama_index.vector_stores.chroma import ChromaVectorStore

import rl_rewriter.demo
from rl_rewriter import Budget, RLQueryRewriter
from rl_rewriter.integrations.llama_index import RewritingRetriever, chat_history, last_decision

CORPUS = Path(rl_rewriter.demo.__file__).parent / "corpus" / "en" / "corpus.jsonl"
COSINE = {"hnsw:space": "cosine"}


class HashedWords(BaseEmbedding):
    """Counts of long words; stands in for your embedding model, so that this runs anywhere."""

    def _get_text_embedding(self, text: str) -> list[float]:
        words = [word.strip(".,?>") for word in text.lower().split() if len(word) > 3]
        buckets = [zlib.crc32(word.encode()) % 512 for word in words]
        return [float(buckets.count(bucket)) for bucket in range(512)]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


def main(policy: str | None = None) -> None:
    collection = chromadb.EphemeralClient().create_collection("help", metadata=COSINE)
    storage = StorageContext.from_defaults(vector_store=ChromaVectorStore(collection))
    entries = map(json.loads, CORPUS.read_text("utf-8").splitlines())
    nodes = [TextNode(id_=e["_id"], text=e["text"]) for e in entries]
    index = VectorStoreIndex(nodes, storage_context=storage, embed_model=HashedWords())

    # Patient, so that this decides alike on a busy machine; the default is a second a request.
    settings: dict[str, Any] = {"log": "decisions.jsonl", "budget": Budget(seconds=30.0)}
    rewriter = RLQueryRewriter.load(policy, **settings) if policy else RLQueryRewriter(**settings)
    retriever = RewritingRetriever(rewriter, index.as_retriever(similarity_top_k=3))
    retriever.warm_up()  # when the service starts: the first query finds the BM25 index open
    engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM())
    with chat_history(["I have a new job.", "How can I help?"]):  # or memory= of a chat engine
        answer = engine.query("how do I change my email address?")
    print(*(node.node_id for node in answer.source_nodes), sep="\n")
    if decision := last_decision.get():
        rewriter.feedback(decision.id, value=1.0, kind="thumb")  # now, or days later, from anywhere


if __name__ == "__main__":
    main(*sys.argv[1:2])
