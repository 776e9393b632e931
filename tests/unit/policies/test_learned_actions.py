"""A blend on disk: its numbers stand beside the policy's, and come back or are refused."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from rl_rewriter.actions.blend import LearnedBlend
from rl_rewriter.actions.blend_head import TanhNetwork
from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.actions.views import views_for
from rl_rewriter.errors import CheckpointError
from rl_rewriter.policies.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from rl_rewriter.policies.decider import Decider
from rl_rewriter.policies.learned_actions import blend_arrays, restored_blends
from rl_rewriter.policies.retrieving import searched
from rl_rewriter.policies.spending import Caps, Meter, searches_of
from rl_rewriter.retrieval.hybrid import HybridRetriever
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.types import Matrix, Query, Turn
from tests.support import QUERIES, TokenEmbedder, blend_checkpoint, chroma_collection
from tests.unit.retrieval.test_evidence import Counted

WEIGHTS, MANIFEST = "policy.safetensors", "manifest.json"
Arrays = dict[str, Matrix]


@pytest.fixture(scope="module")
def retriever(tmp_path_factory: pytest.TempPathFactory) -> HybridRetriever:
    folder = tmp_path_factory.mktemp("bm25")
    return chroma_retriever(chroma_collection(), TokenEmbedder(), cache_dir=folder)


@pytest.fixture(scope="module")
def checkpoint(retriever: HybridRetriever) -> Checkpoint:
    """Its blend's networks look at the state."""
    plain = blend_checkpoint(retriever)
    [blend] = plain.blends
    rng = np.random.default_rng(0)
    n_features, n_views = len(blend.head.mean), len(blend.views)
    network = TanhNetwork(
        *(
            rng.standard_normal(shape).astype(np.float32)
            for shape in ((4, n_features), (4,), (n_views, 4))
        )
    )
    return with_blend(plain, replace(blend, head=replace(blend.head, networks=(network,))))


def with_blend(checkpoint: Checkpoint, blend: LearnedBlend) -> Checkpoint:
    single = tuple(action for action in checkpoint.actions if action.name != blend.name)
    actions = replace(checkpoint.actions, actions=(*single, blend))
    return replace(checkpoint, actions=actions)


@pytest.fixture
def folder(checkpoint: Checkpoint, tmp_path: Path) -> Path:
    save_checkpoint(checkpoint, tmp_path / "policy")
    return tmp_path / "policy"


def rewrite_files(
    folder: Path, arrays: Callable[[Arrays], object], manifest: Callable[[Any], object]
) -> None:
    """Change the files as somebody would who makes their digests right again."""
    held = load_file(folder / WEIGHTS)
    arrays(held)
    save_file(held, folder / WEIGHTS)
    record = json.loads((folder / MANIFEST).read_text())
    record["files"][WEIGHTS] = hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest()
    manifest(record)
    (folder / MANIFEST).write_text(json.dumps(record))


def nothing(_: object) -> None:
    pass


def test_the_same_searches_after_loading(
    checkpoint: Checkpoint, folder: Path, retriever: HybridRetriever
) -> None:
    loaded = load_checkpoint(folder)
    history = (Turn("user", "a refund"), Turn("assistant", "to the card"))
    for query in (*(Query(text) for text in QUERIES), Query("and when?", history)):
        before, after = (Decider(c).plan(query, retriever).decision for c in (checkpoint, loaded))
        assert after.action == before.action == "blend"
        assert after.rewrite == before.rewrite
        assert after.policy_version == before.policy_version == checkpoint.version
    assert [blend.name for blend in loaded.blends] == ["blend"]
    assert loaded.actions.fingerprint == checkpoint.actions.fingerprint


def test_policies_that_differ_in_the_blend_alone_have_versions_of_their_own(
    checkpoint: Checkpoint,
) -> None:
    [blend] = checkpoint.blends
    other = with_blend(checkpoint, replace(blend, head=replace(blend.head, strength=0.5)))
    assert other.policy.version == checkpoint.policy.version
    assert other.version != checkpoint.version
    assert other.actions.fingerprint != checkpoint.actions.fingerprint


def test_without_a_blend_the_version_is_the_policys(checkpoint: Checkpoint) -> None:
    single = tuple(a for a in checkpoint.actions if not isinstance(a, LearnedBlend))
    policy = replace(
        checkpoint.policy,
        layers=(
            *checkpoint.policy.layers[:-1],
            replace(
                checkpoint.policy.layers[-1],
                weight=checkpoint.policy.layers[-1].weight[:-1],
                bias=checkpoint.policy.layers[-1].bias[:-1],
            ),
        ),
    )
    plain = replace(checkpoint, policy=policy, actions=replace(checkpoint.actions, actions=single))
    assert plain.blends == ()
    assert plain.version == policy.version


def test_a_blend_of_other_features_does_not_belong(checkpoint: Checkpoint) -> None:
    [blend] = checkpoint.blends
    head = replace(blend.head, mean=blend.head.mean[1:], spread=blend.head.spread[1:], networks=())
    with pytest.raises(CheckpointError, match="the learned blend 'blend' reads"):
        with_blend(checkpoint, replace(blend, head=head))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a.pop("actions.blend.bias"), "is not complete"),
        (lambda a: a.pop("actions.blend.factors"), "is not complete"),
        (lambda a: a.update({"actions.blend.scale": a["actions.blend.scale"][:-1]}), "don't fit"),
        (lambda a: a["actions.blend.bias"].fill(np.nan), "not finite|don't fit|NaN|infinit"),
        (lambda a: a["actions.blend.spread"].fill(0.0), "don't fit"),
        (lambda a: a.update({"actions.blend.0.outer": a["actions.blend.bias"]}), "don't fit"),
        (lambda a: a["actions.blend.bias"].__iadd__(0.5), "trained with other actions"),
    ],
)
def test_damaged_numbers_are_refused_in_one_sentence(
    folder: Path, change: Callable[[Arrays], object], message: str
) -> None:
    rewrite_files(folder, change, nothing)
    with pytest.raises(CheckpointError, match=message) as caught:
        load_checkpoint(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s["views"].append("smell"), "views that this version doesn't know"),
        (lambda s: s.update(views=[]), "views that this version doesn't know"),
        (lambda s: s.pop("views"), "not a complete policy"),
        (lambda s: s.update(views=3), "not a complete policy"),
        (lambda s: s["views"].pop(), "don't fit"),
    ],
)
def test_a_manifest_of_another_blend_is_refused(
    folder: Path, change: Callable[[Any], object], message: str
) -> None:
    rewrite_files(folder, nothing, lambda record: change(record["actions"][-1]["settings"]))
    with pytest.raises(CheckpointError, match=message) as caught:
        load_checkpoint(folder)
    assert "\n" not in str(caught.value)


def test_several_blends_do_not_mix(retriever: HybridRetriever) -> None:
    [blend] = blend_checkpoint(retriever).blends
    other = LearnedBlend(replace(blend.head, strength=0.5), "blend~1")
    arrays = blend_arrays([blend, other])
    records = [
        {"name": one.name, "type": "LearnedBlend", "settings": one.settings()}
        for one in (blend, other)
    ]
    found = restored_blends([{"name": "keep", "type": "Keep", "settings": {}}, *records], arrays)
    assert [one.name for one in found] == ["blend", "blend~1"]
    assert [one.head.version for one in found] == [blend.head.version, other.head.version]
    assert [one.head.strength for one in found] == [1.0, 0.5]


def test_numbers_without_their_action_are_said_to_be_missing(checkpoint: Checkpoint) -> None:
    with pytest.raises(CheckpointError, match="the learned blend 'blend' are not beside its name"):
        ActionSpace.from_json(checkpoint.actions.to_json())


def test_views_of_the_default_are_those_of_the_collection(
    checkpoint: Checkpoint, retriever: HybridRetriever
) -> None:
    assert checkpoint.blends[0].views == views_for(retriever.offers)


def test_the_conversation_is_embedded_with_the_query(retriever: HybridRetriever) -> None:
    """One call of the model, one search by vector and one by words for evidence."""
    counted = Counted(retriever)
    history = (Turn("user", "a refund"), Turn("assistant", "to the card"))
    plan = Decider(blend_checkpoint(retriever)).plan(Query("and when?", history), counted)
    assert plan.decision.action == "blend"
    assert counted.calls["embed"] == 1
    assert counted.calls["search"] == 1
    assert counted.calls["lexical"] == 1


@pytest.mark.parametrize("searches", [1, 2, 3, 4])
def test_it_is_masked_where_its_searches_are_too_many(
    retriever: HybridRetriever, searches: int
) -> None:
    """First ranking, BM25 for evidence and BM25 for fusion: three beside the base's one."""
    meter = Meter(Caps(searches=searches))
    checkpoint = blend_checkpoint(retriever)
    plan = Decider(checkpoint).plan(Query(QUERIES[0]), retriever, meter=meter)
    assert searches_of(checkpoint.features.needs, checkpoint.blends[0]) == 3
    assert ("blend" in plan.decision.probabilities) is (searches >= 3)
    if searches >= 3:
        assert plan.decision.action == "blend"
        served, ranking = searched(plan, retriever, 4, meter)
        assert served.decision.action == "blend"
        assert ranking is not None
        assert meter.searches == 3
