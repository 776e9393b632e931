"""Where a blend is served: the state says so, and a closed gate costs nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_rewriter.actions.blend import LearnedBlend
from rl_rewriter.actions.blend_gate import BlendGate
from rl_rewriter.actions.blend_head import BlendHead
from rl_rewriter.errors import CheckpointError
from rl_rewriter.policies.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from rl_rewriter.policies.decider import Decider
from rl_rewriter.retrieval.hybrid import HybridRetriever
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.types import Matrix, Query, RewriteDecision
from tests.support import QUERIES, TokenEmbedder, blend_checkpoint, chroma_collection
from tests.unit.actions.conftest import MakeEvidence, head_of, ranking

GATE = BlendGate(np.asarray([0.5, -0.25], dtype=np.float32), bias=0.1, least=0.2)
NUMBERS = st.floats(-2.0, 2.0, width=32)


def states_of(rows: list[tuple[float, float]]) -> Matrix:
    return np.asarray(rows, dtype=np.float32).reshape(-1, 2)


def test_the_advantage_by_hand() -> None:
    states = states_of([(0.0, 0.0), (1.0, 0.0), (1.0, 2.0), (0.2, 0.0)])
    np.testing.assert_allclose(GATE.advantage(states), [0.1, 0.6, 0.1, 0.2], rtol=1e-6)
    assert GATE.is_open(states).tolist() == [False, True, False, True]


def test_where_the_gate_is_closed_the_query_has_all_weight() -> None:
    head = head_of(weights=(0.5, 0.3, 0.2))
    gated = replace(head, gate=GATE)
    raw, present = states_of([(1.0, 0.0), (-1.0, 0.0)]), np.ones((2, 3), dtype=np.bool_)
    open_, closed = gated.weights(raw, present)
    np.testing.assert_allclose(open_, head.weights(raw, present)[0])
    assert closed.tolist() == [1.0, 0.0, 0.0]
    assert LearnedBlend(gated).strength == LearnedBlend(head).strength


@settings(max_examples=50, deadline=None)
@given(
    rows=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=8),
    weights=st.tuples(NUMBERS, NUMBERS),
    bias=NUMBERS,
    least=NUMBERS,
)
def test_a_gate_read_back_opens_to_the_same_queries_one_by_one(
    rows: list[tuple[float, float]], weights: tuple[float, float], bias: float, least: float
) -> None:
    gate = BlendGate(np.asarray(weights, dtype=np.float32), bias, least)
    head = replace(head_of(), mean=np.asarray([0.3, -0.1], dtype=np.float32), gate=gate)
    again = BlendHead.restore(head.views, head.arrays())
    raw = states_of(rows)
    expected = head.is_open(raw).tolist()
    assert again.version == head.version
    assert again.is_open(raw).tolist() == expected
    assert [bool(again.is_open(row[None])[0]) for row in raw] == expected


def test_a_gate_makes_another_version_and_none_adds_no_array() -> None:
    plain = head_of()
    gated = replace(plain, gate=GATE)
    versions = {plain.version, gated.version}
    versions |= {replace(plain, gate=replace(GATE, least=0.3)).version}
    assert len(versions) == 3
    assert not any(name.startswith("gate") for name in plain.arrays())
    assert BlendHead.restore(plain.views, plain.arrays()).gate is None


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"gate.weights": None}, "is not complete"),
        ({"gate.bounds": None}, "is not complete"),
        ({"gate.bounds": [0.1]}, "is not complete"),
        ({"gate.weights": [0.1, 0.2, 0.3]}, "don't fit"),
        ({"gate.weights": [0.1, np.nan]}, "don't fit"),
        ({"gate.bounds": [0.1, np.inf]}, "don't fit"),
    ],
)
def test_damaged_gates_are_refused(changed: dict[str, Any], said: str) -> None:
    arrays = replace(head_of(), gate=GATE).arrays()
    for name, numbers in changed.items():
        arrays.pop(name)
        if numbers is not None:
            arrays[name] = np.asarray(numbers, dtype=np.float32)
    with pytest.raises(CheckpointError, match=said):
        BlendHead.restore(head_of().views, arrays)


def test_the_state_alone_tells_who_is_kept(evidence: MakeEvidence) -> None:
    blend = LearnedBlend(replace(head_of(), gate=GATE))
    item = evidence("refund", vector=[1.0, 0.0], first=ranking(vectors=[[0, 1]]))
    assert blend.keeps(item)  # of whom nothing is known: the average query is below the bound
    item.features = np.asarray([1.0, 0.0], dtype=np.float32)
    assert not blend.keeps(item)
    assert blend.rewrite(item) is not None
    item.features = np.asarray([-1.0, 0.0], dtype=np.float32)
    assert blend.keeps(item)
    assert blend.rewrite(item) is None


class Looked(HybridRetriever):
    """Counts the vectors of documents that are asked for."""

    fetched = 0

    def document_vectors(self, ids: Any) -> Any:
        self.fetched += len(ids)
        return super().document_vectors(ids)


@pytest.fixture(scope="module")
def retriever(tmp_path_factory: pytest.TempPathFactory) -> Looked:
    folder = tmp_path_factory.mktemp("bm25")
    whole = chroma_retriever(chroma_collection(), TokenEmbedder(), cache_dir=folder)
    return Looked(whole.base, whole._index)


def gated_by(checkpoint: Checkpoint, least: float) -> Checkpoint:
    """The same checkpoint with a gate that tells the same of every query."""
    [blend] = checkpoint.blends
    weights = np.zeros(len(blend.head.mean), dtype=np.float32)
    gated = replace(blend, head=replace(blend.head, gate=BlendGate(weights, 0.0, least)))
    kept = [action for action in checkpoint.actions if action != blend]
    return replace(checkpoint, actions=type(checkpoint.actions)((*kept, gated)))


def decided(checkpoint: Checkpoint, retriever: Looked) -> RewriteDecision:
    retriever.fetched = 0
    plan = Decider(checkpoint).plan(Query(QUERIES[0]), retriever)
    assert plan.error is None
    return plan.decision


@pytest.mark.parametrize(("least", "is_kept"), [(-1.0, False), (1.0, True)])
def test_a_served_gate_keeps_before_anything_is_gathered_for_views(
    retriever: Looked, tmp_path: Path, least: float, is_kept: bool
) -> None:
    checkpoint = gated_by(blend_checkpoint(retriever), least)
    save_checkpoint(checkpoint, tmp_path / "policy")
    for served in (checkpoint, load_checkpoint(tmp_path / "policy")):
        decision = decided(served, retriever)
        assert decision.action == "blend"
        assert decision.reason == "policy"
        assert decision.rewrite.is_the_query(decision.query) is is_kept
        assert (retriever.fetched == 0) is is_kept
