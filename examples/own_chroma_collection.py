"""Your own Chroma collection: train, decide, serve, save, load.

Run ``python examples/own_chroma_collection.py``. A part of the bundled help-centre corpus stands in
for your documents and judged queries, and the packaged MiniLM for your embedding model.
"""

import tempfile
from pathlib import Path

import chromadb

import rl_rewriter
from rl_rewriter import Budget, FitConfig, ReinforceConfig, RLQueryRewriter
from rl_rewriter.benchmark.collections.read import read_collection
from rl_rewriter.retrieval.embedders import load_embedder

CORPUS = Path(rl_rewriter.__file__).parent / "demo" / "corpus" / "en"


def main(folder: Path) -> None:
    data = read_collection(CORPUS).limited(80)  # few queries and updates, to be quick
    embedder = load_embedder("minilm")  # or LangChain's, LlamaIndex's, a SentenceTransformer
    client = chromadb.PersistentClient(folder / "chroma")
    collection = client.create_collection("help", configuration={"hnsw": {"space": "cosine"}})
    ids, texts = list(data.documents), list(data.documents.values())
    collection.add(ids=ids, documents=texts, embeddings=embedder.embed_documents(texts))

    log = folder / "decisions.jsonl"
    patient = Budget(seconds=None)  # so that this decides alike on any machine; else it's a second
    rewriter = RLQueryRewriter.from_chroma(collection, embedder, log=log, seed=0, budget=patient)
    rewriter.warm_up()  # when a service starts: opens the BM25 index, embeds a text
    print("before training:", rewriter.decide("How do I get my money back?").reason)

    # Queries with ids (or id -> text), and judgements: query id -> document id -> grade.
    config = FitConfig(reinforce=ReinforceConfig(updates=300))
    groups = [data.group_of(query) for query in data.train]
    report = rewriter.fit(data.train, data.qrels, groups=groups, config=config)
    print("nDCG@10 on the validation queries:", report.validation, *report.warnings)

    history = ["Can I send my parcel back?", "Yes, within 30 days."]
    decision = rewriter.decide("and who pays for it?", history=history)
    print(f"decided: {decision.action} ({decision.reason}), searched: {decision.rewrite.texts}")

    found = rewriter.retrieve("How do I get my money back?", k=3, explore=True)
    rewriter.record(found.decision, found.ranking)
    rewriter.feedback(found.decision.id, value=1.0, kind="thumb")  # now, or days later
    print("found:", *found.ranking.ids)

    rewriter.save(folder / "policy")
    again = RLQueryRewriter.load(folder / "policy", retriever=rewriter.retriever, budget=patient)
    same = again.decide("and who pays for it?", history=history).action == decision.action
    print("loaded policy decides alike:", same)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(Path(temporary))
