"""A LangChain chain whose retriever is wrapped: ``python examples/langchain_chain.py [POLICY]``.

Without a policy the rewriter is untrained and changes nothing; its decisions are logged anyway.
"""

import json
import sys
import zlib
from pathlib import Path
from typing import Any

from langchain_chroma import Chroma
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import FakeListLLM
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableParallel, RunnablePassthrough

import rl_rewriter
from rl_rewriter import Budget, RLQueryRewriter
from rl_rewriter.integrations.langchain import RewritingRetriever

CORPUS = Path(rl_rewriter.__file__).parent / "demo" / "corpus" / "en" / "corpus.jsonl"


class HashedWords(Embeddings):
    """Counts of long words; stands in for your embedding model, so that this runs anywhere."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        words = [word.strip(".,?>") for word in text.lower().split() if len(word) > 3]
        buckets = [zlib.crc32(word.encode()) % 512 for word in words]
        return [float(buckets.count(bucket)) for bucket in range(512)]


def main(policy: str | None = None) -> None:
    entries = [json.loads(line) for line in CORPUS.read_text("utf-8").splitlines()]
    store = Chroma("help", HashedWords(), collection_configuration={"hnsw": {"space": "cosine"}})
    store.add_documents([Document(page_content=e["text"], id=e["_id"]) for e in entries])

    # Patient, so that this decides alike on a busy machine; the default is a second a request.
    settings: dict[str, Any] = {"log": "decisions.jsonl", "budget": Budget(seconds=30.0)}
    rewriter = RLQueryRewriter.load(policy, **settings) if policy else RLQueryRewriter(**settings)
    retriever = RewritingRetriever(
        rewriter=rewriter, base_retriever=store.as_retriever(), tag_documents=True
    )
    retriever.warm_up()  # when the service starts: the first question finds the BM25 index open
    prompt = ChatPromptTemplate.from_template("Answer from {context}: {question}")
    llm = FakeListLLM(responses=["Under Account > Personal details > E-mail address."])
    found = RunnableParallel(context=retriever, question=RunnablePassthrough())
    chain = found.assign(answer=prompt | llm)

    result = chain.invoke("how do I change my email address?")
    print(*(f"- {document.id}" for document in result["context"]), result["answer"], sep="\n")
    decision_id = result["context"][0].metadata["rl_rewriter_decision_id"]
    rewriter.feedback(decision_id, value=1.0, kind="thumb")  # now, or days later, from anywhere


if __name__ == "__main__":
    main(*sys.argv[1:2])
