"""From a registry through the rewriter and its log back to the registry."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.rewriter import RLQueryRewriter
from rl_rewriter.rollout.deployment import RegistryDeployment
from rl_rewriter.rollout.kill_switch import VARIABLE
from rl_rewriter.rollout.registry import PolicyRegistry
from rl_rewriter.rollout.roll_back import RollBackConfig
from rl_rewriter.rollout.watch import Watch
from rl_rewriter.types import Ranking, Rewrite
from tests.support import DOCUMENTS, QUERIES, fixed_checkpoint


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PolicyRegistry:
    monkeypatch.delenv(VARIABLE, raising=False)
    found = PolicyRegistry(tmp_path / "registry")
    found.add(fixed_checkpoint(Bm25Retriever(DOCUMENTS), "keywords"))
    return found


def test_a_canary_that_harms_is_rolled_back_by_what_its_own_log_says(
    registry: PolicyRegistry, tmp_path: Path
) -> None:
    [entry] = registry.list()
    registry.promote(entry.version, share=0.5)
    rewriter = RLQueryRewriter(
        Bm25Retriever(DOCUMENTS),
        deployment=RegistryDeployment(registry, check_seconds=0.0),
        log=tmp_path / "log.jsonl",
    )
    for number in range(120):
        found = rewriter.retrieve(QUERIES[0], session=f"session-{number}")
        rewriter.record(found.decision, found.ranking)
        is_candidate = found.decision.reason == "policy"
        assert is_candidate == (found.decision.action == "keywords")
        rewriter.feedback(found.decision.id, 0.0 if is_candidate else number % 2)
    watch = Watch(
        registry,
        tmp_path / "log.jsonl",
        RollBackConfig(min_sessions=20),
        clock=lambda: time.time() + 10_000.0,
    )
    found_out = watch.look()
    assert found_out.evidence is not None
    assert sum(found_out.evidence.sessions) == 120
    assert found_out.rolled_back
    after = rewriter.retrieve(QUERIES[0], session="session-0").decision
    assert (after.action, after.reason) == ("keep", "untrained")


def test_a_shadow_and_a_kill_switch_serve_keep_and_say_so(registry: PolicyRegistry) -> None:
    [entry] = registry.list()
    registry.promote(entry.version, shadow=True)
    rewriter = RLQueryRewriter(
        Bm25Retriever(DOCUMENTS), deployment=RegistryDeployment(registry, check_seconds=0.0)
    )
    decision = rewriter.decide(QUERIES[0], session="s")
    assert (decision.action, decision.reason) == ("keep", "shadow")
    registry.switch_off()
    rewriter = RLQueryRewriter(
        Bm25Retriever(DOCUMENTS), deployment=RegistryDeployment(registry, check_seconds=0.0)
    )
    decision = rewriter.decide(QUERIES[0], session="s")
    assert (decision.action, decision.reason) == ("keep", "fallback:kill_switch")


class WithoutRewrites(Bm25Retriever):
    """Searches what was asked, and fails on anything else."""

    def search(self, rewrites: Sequence[Rewrite], **settings: Any) -> list[Ranking]:
        if any(rewrite.text not in QUERIES for rewrite in rewrites):
            raise RuntimeError("no rewrite can be searched")
        return super().search(rewrites, **settings)


def test_a_rewrite_that_cannot_be_searched_counts_for_its_rollout(
    registry: PolicyRegistry,
) -> None:
    [entry] = registry.list()
    registry.promote(entry.version)
    rewriter = RLQueryRewriter(
        WithoutRewrites(DOCUMENTS), deployment=RegistryDeployment(registry, check_seconds=0.0)
    )
    decision = rewriter.retrieve(QUERIES[0], session="s").decision
    assert decision.reason == "fallback:search"
    assert decision.tags["rollout_version"] == entry.version
