"""A trained policy on disk: ``policy.safetensors``, ``manifest.json``, ``statistics.json``."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rl_rewriter.actions.base import Action
from rl_rewriter.actions.blend import LearnedBlend
from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.errors import CheckpointError
from rl_rewriter.features.feature_set import FeatureSet
from rl_rewriter.folders import replacing
from rl_rewriter.policies.checkpoint_files import (
    MAX_FILE_BYTES,
    check_manifest,
    parse_arrays,
    parse_object,
    read_file,
)
from rl_rewriter.policies.learned_actions import blend_arrays, restored_blends
from rl_rewriter.policies.mlp import MlpPolicy
from rl_rewriter.text.digests import digest
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.types import Matrix

SCHEMA = 1
_WEIGHTS, _MANIFEST, _STATISTICS = "policy.safetensors", "manifest.json", "statistics.json"
_DESCRIBED = (_WEIGHTS, _STATISTICS)
"""Files whose digests stand in the manifest."""


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """All that serving needs.

    Attributes:
        policy: The learned policy.
        actions: What its outputs mean.
        features: What its inputs mean, with their statistics.
        statistics: Term weights and topics of the collection it was trained on.
        training: Summary of the training run, for people: settings, results, versions.
    """

    policy: MlpPolicy
    actions: ActionSpace
    features: FeatureSet
    statistics: CollectionStatistics
    training: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check that the parts belong together."""
        if self.policy.n_actions != len(self.actions):
            raise CheckpointError(
                f"the policy chooses among {self.policy.n_actions} actions but "
                f"{len(self.actions)} are given: {', '.join(self.actions.names)}"
            )
        if self.policy.n_features != len(self.features.columns):
            raise CheckpointError(
                f"the policy reads {self.policy.n_features} features but "
                f"{len(self.features.columns)} are given"
            )
        for blend in self.blends:
            if len(blend.head.mean) != len(self.features.columns):
                raise CheckpointError(
                    f"the learned blend {blend.name!r} reads {len(blend.head.mean)} features but "
                    f"{len(self.features.columns)} are given"
                )

    @property
    def blends(self) -> tuple[LearnedBlend, ...]:
        """Actions that were learned with the policy, and are stored with it."""
        return tuple(action for action in self.actions if isinstance(action, LearnedBlend))

    @cached_property
    def blend_versions(self) -> Mapping[str, str]:
        """Version of the numbers of each of them, by name."""
        return {blend.name: blend.head.version for blend in self.blends}

    @cached_property
    def version(self) -> str:
        """Hash of what was learned, 12 digits: of the policy and of the actions learned with it."""
        learned = [blend.head.version for blend in self.blends]
        return digest([self.policy.version, *learned])[:12] if learned else self.policy.version


def save_checkpoint(checkpoint: Checkpoint, folder: Path) -> None:
    """Write a checkpoint as a folder, all of it or nothing; an older one there is replaced.

    Raises:
        CheckpointError: The folder holds something else than a policy, or a file of it would be too
            long to be read back.
    """
    from safetensors.numpy import save

    refuse_other_content(folder)
    arrays = {
        **checkpoint.policy.arrays(),
        **checkpoint.features.arrays(),
        **blend_arrays(checkpoint.blends),
    }
    files = {
        _WEIGHTS: save({name: _contiguous(array) for name, array in arrays.items()}),
        _STATISTICS: _to_json(checkpoint.statistics.to_json()),
    }
    manifest = {
        "schema": SCHEMA,
        "policy": {"kind": checkpoint.policy.name, "version": checkpoint.version},
        "actions": checkpoint.actions.to_json(),
        "actions_fingerprint": checkpoint.actions.fingerprint,
        "features": checkpoint.features.to_json(),
        "columns": list(checkpoint.features.columns),
        "features_fingerprint": checkpoint.features.fingerprint,
        "files": {name: _digest(content) for name, content in files.items()},
        "training": dict(checkpoint.training),
    }
    files[_MANIFEST] = _to_json(manifest, indent=2)
    for name, content in files.items():
        if len(content) > MAX_FILE_BYTES:
            raise CheckpointError(
                f"{name} would be {len(content):,} bytes long, and at most {MAX_FILE_BYTES:,} are "
                "read back"
            )
    with replacing(folder) as temporary:
        for name, content in files.items():
            (temporary / name).write_bytes(content)


def load_checkpoint(folder: Path, *, own_actions: Iterable[Action] = ()) -> Checkpoint:
    """Read a checkpoint back, from a stranger as well; torch isn't needed.

    Nothing of it is executed, and what could exhaust memory is refused: see
    :mod:`rl_rewriter.policies.checkpoint_files` for the limits.

    Args:
        folder: What :func:`save_checkpoint` wrote.
        own_actions: Actions of the user's own that it was trained with.

    Raises:
        CheckpointError: A file is missing or damaged, or the actions or features are not those
            that it was trained with; the text says which.
    """
    described = folder / _MANIFEST
    manifest = parse_object(described, read_file(described))
    if manifest.get("schema") != SCHEMA:
        raise CheckpointError(
            f"{described} has schema {manifest.get('schema')!r}; this version reads {SCHEMA}"
        )
    try:
        check_manifest(described, manifest)
        contents = {name: _read_as_described(folder / name, manifest) for name in _DESCRIBED}
        arrays = parse_arrays(folder / _WEIGHTS, contents[_WEIGHTS])
        blends = restored_blends(manifest["actions"], arrays)
        actions = ActionSpace.from_json(manifest["actions"], (*own_actions, *blends))
        features = FeatureSet.restore(manifest["features"], arrays)
        statistics = CollectionStatistics.from_json(
            parse_object(folder / _STATISTICS, contents[_STATISTICS])
        )
        changed = [
            record["name"]
            for record, now in zip(manifest["actions"], actions.to_json(), strict=True)
            if record != now
        ]
        _compare("actions", manifest["actions_fingerprint"], actions.fingerprint, changed)
        changed = sorted(set(manifest["columns"]) ^ set(features.columns))
        _compare("features", manifest["features_fingerprint"], features.fingerprint, changed)
        policy = MlpPolicy.restore(arrays)
        return Checkpoint(policy, actions, features, statistics, manifest.get("training", {}))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise CheckpointError(
            f"{folder} is not a complete policy ({type(error).__name__}: {str(error)[:200]}); "
            "train it again"
        ) from error


def refuse_other_content(folder: Path) -> None:
    """Check, before minutes of training, that a policy can be written to a folder.

    Raises:
        CheckpointError: The folder holds something else than a policy.
    """
    ours = {_MANIFEST, *_DESCRIBED}
    if folder.is_dir():
        is_free = {path.name for path in folder.iterdir()} <= ours
    else:
        is_free = not folder.exists()
    if not is_free:
        raise CheckpointError(f"{folder} holds something else than a policy; give another folder")
    standing = next(parent for parent in folder.absolute().parents if parent.exists())
    if not standing.is_dir() or not os.access(standing, os.W_OK):
        raise CheckpointError(f"{folder} cannot be made in {standing}; give another folder")


def _compare(what: str, expected: str, found: str, changed: Sequence[str]) -> None:
    if expected != found:
        which = f" ({', '.join(changed[:5])})" if changed else ""
        raise CheckpointError(
            f"the policy was trained with other {what}{which} than there are now (fingerprints "
            f"{expected} and {found}); train it again or use the version it was trained with"
        )


def _contiguous(array: Matrix) -> Matrix:
    return np.ascontiguousarray(array, dtype=np.float32)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _to_json(record: Mapping[str, Any], indent: int | None = None) -> bytes:
    return json.dumps(record, ensure_ascii=False, indent=indent).encode()


def _read_as_described(path: Path, manifest: Mapping[str, Any]) -> bytes:
    content = read_file(path)
    if manifest["files"][path.name] != _digest(content):
        raise CheckpointError(
            f"{path} is damaged or belongs to another policy: its manifest describes other content"
        )
    return content
