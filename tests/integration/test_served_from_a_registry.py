"""One registry, promoted, rolled back and switched off while both adapters serve from it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chromadb
import pytest
from langchain_chroma import Chroma
from llama_index.core.instrumentation.dispatcher import (  # type: ignore[attr-defined]  # public there
    instrument_tags,
)

from rl_rewriter import RLQueryRewriter
from rl_rewriter.integrations import langchain, llama_index
from rl_rewriter.logs.store import read_records
from rl_rewriter.rollout.kill_switch import VARIABLE
from rl_rewriter.rollout.registry import PolicyRegistry
from rl_rewriter.types import RewriteDecision
from tests.integration.langchain.parts import Embedder, documents
from tests.integration.llama_index.parts import chroma_index, retriever_over
from tests.support import QUERIES, fixed_checkpoint

SESSIONS = [f"session-{number}" for number in range(12)]
REASONS = {"untrained", "policy", "fallback:kill_switch"}
Ask = Callable[[str], RewriteDecision]


def wait_until(holds: Callable[[], bool], patience: float = 30.0) -> None:
    """A change of the registry is seen within a second or so."""
    until = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < until, "the change was never seen"
        time.sleep(0.02)


def latest(decision: RewriteDecision | None) -> RewriteDecision:
    assert decision is not None
    return decision


@pytest.fixture
def index() -> Any:
    return chroma_index()


@pytest.fixture
def registry(tmp_path: Path, index: Any, monkeypatch: pytest.MonkeyPatch) -> PolicyRegistry:
    """A registry of two policies that can be told by what they do."""
    monkeypatch.delenv(VARIABLE, raising=False)
    found = PolicyRegistry(tmp_path / "registry")
    for action in ("keywords", "fuse_bm25@0.4"):
        found.add(fixed_checkpoint(retriever_over(index), action), note=action)
    return found


@pytest.fixture
def rewriter(registry: PolicyRegistry, tmp_path: Path) -> RLQueryRewriter:
    return RLQueryRewriter.from_registry(registry.files.folder, log=tmp_path / "log.jsonl")


@pytest.fixture
def adapters(rewriter: RLQueryRewriter, index: Any) -> dict[str, Ask]:
    """From a session to the decision of a question of it, by each way in."""
    store = Chroma(
        "from-a-registry",
        Embedder(),
        client=chromadb.EphemeralClient(),
        collection_configuration={"hnsw": {"space": "cosine"}},
    )
    store.add_documents(documents())
    chain = langchain.RewritingRetriever(rewriter=rewriter, base_retriever=store.as_retriever())
    engine = llama_index.RewritingRetriever(rewriter, index.as_retriever())
    assert chain.warm_up()
    assert engine.warm_up()
    own = retriever_over(index)

    def by_langchain(session: str) -> RewriteDecision:
        assert chain.invoke(QUERIES[0], {"metadata": {"session_id": session}})
        return latest(langchain.last_decision.get())

    def by_llama_index(session: str) -> RewriteDecision:
        with instrument_tags({"session_id": session}):
            assert engine.retrieve(QUERIES[0])
        return latest(llama_index.last_decision.get())

    def by_hand(session: str) -> RewriteDecision:
        found = rewriter.retrieve(QUERIES[0], retriever=own, session=session)
        assert found.ranking.ids
        rewriter.record(found.decision, found.ranking)
        return found.decision

    return {"langchain": by_langchain, "llama_index": by_llama_index, "python": by_hand}


def test_it_is_followed_while_serving(
    registry: PolicyRegistry,
    rewriter: RLQueryRewriter,
    adapters: dict[str, Ask],
    tmp_path: Path,
) -> None:
    old, new = (
        next(entry.version for entry in registry.list() if entry.note == action)
        for action in ("keywords", "fuse_bm25@0.4")
    )

    def all_are(reason: str, action: str) -> bool:
        made = [ask(SESSIONS[0]) for ask in adapters.values()]
        return {(each.reason, each.action) for each in made} == {(reason, action)}

    def actions() -> dict[str, list[str]]:
        return {name: [ask(s).action for s in SESSIONS] for name, ask in adapters.items()}

    assert all_are("untrained", "keep")
    registry.promote(old)
    wait_until(lambda: all_are("policy", "keywords"))

    registry.promote(new, share=0.5)
    wait_until(lambda: "fuse_bm25@0.4" in actions()["python"])
    by_adapter = actions()
    assert by_adapter["langchain"] == by_adapter["llama_index"] == by_adapter["python"]
    assert set(by_adapter["python"]) == {"keywords", "fuse_bm25@0.4"}

    registry.roll_back(reason="support called")
    wait_until(lambda: set(actions()["python"]) == {"keywords"})
    assert all_are("policy", "keywords")

    registry.switch_off()
    wait_until(lambda: all_are("fallback:kill_switch", "keep"))
    registry.switch_on()
    wait_until(lambda: all_are("policy", "keywords"))

    logged = list(read_records(tmp_path / "log.jsonl"))
    canary = [each for each in logged if each["tags"].get("rollout_stage") == "canary"]
    assert {each["tags"]["rollout_version"] for each in canary} == {new}
    assert {each["action"] for each in canary} == {"fuse_bm25@0.4"}
    assert {each["tags"]["session_id"] for each in logged} == set(SESSIONS)
    counts = rewriter.counters
    assert set(counts["adapters"]) == set(adapters)
    assert set(counts["reasons"]) == REASONS
    assert counts["requests"] == len(logged)
