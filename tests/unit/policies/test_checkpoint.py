"""A policy on disk: the same decisions after loading, and one clear sentence for every damage."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rl_rewriter.actions import ActionSpace
from rl_rewriter.actions.keep import Keep
from rl_rewriter.actions.words import Keywords
from rl_rewriter.errors import CheckpointError
from rl_rewriter.policies.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from rl_rewriter.policies.decider import Decider
from rl_rewriter.policies.mlp import Layer, MlpPolicy
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.types import Query, Rewrite
from tests.support import CHINESE_DOCUMENTS, DOCUMENTS, QUERIES, Shout, fixed_checkpoint

WEIGHTS, MANIFEST, STATISTICS = "policy.safetensors", "manifest.json", "statistics.json"
Damage = Callable[[Path], object]


@pytest.fixture(scope="module")
def retriever() -> Bm25Retriever:
    return Bm25Retriever({**DOCUMENTS, **CHINESE_DOCUMENTS})


@pytest.fixture(scope="module")
def checkpoint(retriever: Bm25Retriever) -> Checkpoint:
    """Weights that look at the state, so that equal decisions mean something."""
    fixed = fixed_checkpoint(retriever, "keywords", texts=list(CHINESE_DOCUMENTS.values()))
    rng = np.random.default_rng(0)
    shape = len(fixed.actions), len(fixed.features.columns)
    weight = rng.normal(size=shape).astype(np.float32)
    policy = MlpPolicy((Layer(weight, rng.normal(size=shape[0]).astype(np.float32)),))
    return replace(fixed, policy=policy, training={"algorithm": "hand", "note": "退款"})


@pytest.fixture
def folder(checkpoint: Checkpoint, tmp_path: Path) -> Path:
    save_checkpoint(checkpoint, tmp_path / "policy")
    return tmp_path / "policy"


def changed(name: str, change: Callable[[dict[str, Any]], object]) -> Damage:
    def damage(folder: Path) -> None:
        record = json.loads((folder / name).read_text())
        change(record)
        (folder / name).write_text(json.dumps(record))

    return damage


def test_the_same_decisions_after_loading(
    checkpoint: Checkpoint, folder: Path, retriever: Bm25Retriever
) -> None:
    loaded = load_checkpoint(folder)
    taken = set()
    for text in (*QUERIES, "如何退款？", "size"):
        one, other = (Decider(c).plan(Query(text), retriever) for c in (checkpoint, loaded))
        assert other.decision.preferences == one.decision.preferences
        assert other.decision.rewrite == one.decision.rewrite
        assert other.decision.policy_version == one.decision.policy_version
        taken.add(one.decision.action)
    assert len(taken) > 1
    assert loaded.training == checkpoint.training
    assert loaded.statistics == checkpoint.statistics
    assert loaded.actions == checkpoint.actions


def test_files_are_json_and_safetensors_alone(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == {WEIGHTS, MANIFEST, STATISTICS}
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    assert manifest["schema"] == 1
    assert manifest["policy"]["kind"] == "mlp"
    assert "退款" in (folder / MANIFEST).read_text(encoding="utf-8")
    assert [path.name for path in folder.parent.iterdir()] == ["policy"]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / WEIGHTS).unlink(), "policy.safetensors does not exist; give the folder"),
        (lambda f: (f / MANIFEST).unlink(), "manifest.json does not exist; give the folder"),
        (lambda f: (f / STATISTICS).unlink(), "statistics.json does not exist; give the folder"),
        (lambda f: (f / WEIGHTS).write_bytes(b""), "policy.safetensors is damaged or belongs to"),
        (lambda f: (f / MANIFEST).write_bytes(b""), "manifest.json is damaged"),
        (lambda f: (f / MANIFEST).write_bytes(b"\xff\xfe"), "manifest.json is damaged"),
        (lambda f: (f / MANIFEST).write_text("[" * 100_000), "manifest.json is damaged"),
        (lambda f: (f / MANIFEST).write_text("[]"), "manifest.json holds no JSON object"),
        (lambda f: (f / MANIFEST).write_text("{}"), "has schema None; this version reads 1"),
        (lambda f: (f / STATISTICS).write_text("{}"), "statistics.json is damaged or belongs to"),
        (changed(MANIFEST, lambda m: m.update(schema=2)), "has schema 2; this version reads 1"),
        (changed(MANIFEST, lambda m: m.pop("files")), "not a complete policy .*'files'"),
        (changed(MANIFEST, lambda m: m.pop("actions")), "not a complete policy .*'actions'"),
        (changed(MANIFEST, lambda m: m["actions"].pop()), "trained with other actions"),
        (changed(MANIFEST, lambda m: m["actions"].reverse()), "first action must be 'keep'"),
        (changed(MANIFEST, lambda m: m["actions"][1].update(type="New")), r"of your own \(New\)"),
        (changed(MANIFEST, lambda m: m["features"].pop()), "do not fit its"),
        (changed(MANIFEST, lambda m: m["features"].append("New")), "unknown features 'New'"),
        (
            changed(MANIFEST, lambda m: m.update(features_fingerprint="0")),
            "trained with other features",
        ),
        (changed(MANIFEST, lambda m: m.update(actions=3)), "not a complete policy"),
        (changed(MANIFEST, lambda m: m.update(files=[])), "not a complete policy"),
    ],
)
def test_every_damage_is_told_in_one_sentence(folder: Path, damage: Damage, message: str) -> None:
    damage(folder)
    with pytest.raises(CheckpointError, match=message) as caught:
        load_checkpoint(folder)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_no_folder_at_all(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="does not exist; give the folder of a saved policy"):
        load_checkpoint(tmp_path / "nowhere")


@pytest.mark.parametrize("name", [WEIGHTS, STATISTICS])
def test_truncated_and_flipped_files_are_noticed(folder: Path, name: str) -> None:
    """Anywhere: in a header, in the weights, in the scaling of the features, in a term weight."""
    content = (folder / name).read_bytes()
    for size in (0, 1, 7, 8, 100, len(content) // 2, len(content) - 1):
        (folder / name).write_bytes(content[:size])
        with pytest.raises(CheckpointError, match=f"{name} is damaged"):
            load_checkpoint(folder)
    for position in np.linspace(0, len(content) - 1, 60, dtype=int):
        flipped = bytearray(content)
        flipped[position] ^= 1 << int(position % 8)
        (folder / name).write_bytes(flipped)
        with pytest.raises(CheckpointError, match=f"{name} is damaged"):
            load_checkpoint(folder)


def test_flipped_manifests_are_refused_or_harmless(
    folder: Path, checkpoint: Checkpoint, retriever: Bm25Retriever
) -> None:
    content = (folder / MANIFEST).read_bytes()
    expected = Decider(checkpoint).plan(Query(QUERIES[0]), retriever).decision
    refused = 0
    for position in range(0, len(content), 29):
        flipped = bytearray(content)
        flipped[position] ^= 1 << (position % 8)
        (folder / MANIFEST).write_bytes(flipped)
        try:
            loaded = load_checkpoint(folder)
        except CheckpointError:
            refused += 1
            continue
        decision = Decider(loaded).plan(Query(QUERIES[0]), retriever).decision
        assert (decision.action, decision.rewrite) == (expected.action, expected.rewrite)
    assert refused > 20


def test_a_mixture_of_two_policies_is_noticed(
    folder: Path, checkpoint: Checkpoint, tmp_path: Path
) -> None:
    other = replace(checkpoint, policy=MlpPolicy((Layer(
        checkpoint.policy.layers[0].weight * 2, checkpoint.policy.layers[0].bias),)))  # fmt: skip
    save_checkpoint(other, tmp_path / "other")
    (folder / WEIGHTS).write_bytes((tmp_path / "other" / WEIGHTS).read_bytes())
    with pytest.raises(CheckpointError, match="belongs to another policy"):
        load_checkpoint(folder)


def test_overwriting_replaces_everything_or_nothing(
    folder: Path, checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = load_checkpoint(folder)
    other = replace(checkpoint, training={"note": object()})  # cannot be written as JSON
    with pytest.raises(TypeError):
        save_checkpoint(other, folder)
    assert load_checkpoint(folder).training == before.training
    save_checkpoint(replace(checkpoint, training={"note": "second"}), folder)
    assert load_checkpoint(folder).training == {"note": "second"}
    assert [path.name for path in folder.parent.iterdir()] == ["policy"]
    monkeypatch.chdir(folder.parent)
    save_checkpoint(replace(checkpoint, training={"note": "third"}), Path("policy"))
    assert load_checkpoint(Path("policy")).training == {"note": "third"}


def test_a_folder_of_something_else_is_not_replaced(checkpoint: Checkpoint, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    for target in (tmp_path, tmp_path / "thesis.tex"):
        with pytest.raises(CheckpointError, match="holds something else than a policy; give"):
            save_checkpoint(checkpoint, target)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"
    (tmp_path / "empty").mkdir()
    save_checkpoint(checkpoint, tmp_path / "empty")
    assert load_checkpoint(tmp_path / "empty").policy.version == checkpoint.policy.version


def test_own_actions_are_brought_or_asked_for(
    checkpoint: Checkpoint, retriever: Bm25Retriever, tmp_path: Path
) -> None:
    space = ActionSpace((Keep(), Keywords(), Shout()))
    own = fixed_checkpoint(retriever, "shout", actions=space)
    save_checkpoint(own, tmp_path / "policy")
    loaded = load_checkpoint(tmp_path / "policy", own_actions=[Shout()])
    decision = Decider(loaded).plan(Query("refund please"), retriever).decision
    assert decision.rewrite == Rewrite(("REFUND PLEASE",))
    with pytest.raises(CheckpointError, match=r"'shout' of your own \(Shout\); pass it"):
        load_checkpoint(tmp_path / "policy")
    with pytest.raises(CheckpointError, match=r"trained with other actions \(shout\) than"):
        load_checkpoint(tmp_path / "policy", own_actions=[Shout(strength=0.5)])


def test_parts_belong_together(checkpoint: Checkpoint) -> None:
    with pytest.raises(CheckpointError, match="actions but 2 are given: keep, keywords"):
        replace(checkpoint, actions=ActionSpace((Keep(), Keywords())))
    small = MlpPolicy(
        (Layer(checkpoint.policy.layers[0].weight[:, :3], checkpoint.policy.layers[0].bias),)
    )
    with pytest.raises(CheckpointError, match="reads 3 features but"):
        replace(checkpoint, policy=small)
