"""The policies of a registry: written once, read back before they count."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rl_rewriter.actions.base import Action
from rl_rewriter.errors import CheckpointError
from rl_rewriter.policies.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from rl_rewriter.rollout.registry_files import ADDING, RegistryFiles, refuse_link


class PolicyStore:
    """One folder a version, each named by its content.

    Args:
        files: Where.
        own_actions: Actions of the user's own that policies were trained with.
    """

    def __init__(self, files: RegistryFiles, own_actions: Sequence[Action] = ()) -> None:
        self._files = files
        self._own_actions = own_actions

    def from_folder(self, folder: Path) -> Checkpoint:
        """Read a policy that lies elsewhere.

        Raises:
            CheckpointError: It can't be used.
        """
        return load_checkpoint(folder, own_actions=self._own_actions)

    def load(self, version: str) -> Checkpoint:
        """Read one policy.

        Raises:
            InputError: The name is none of a policy.
            CheckpointError: It is missing or damaged, or a link stands in its place.
        """
        return self.from_folder(self._files.policy(version))

    def check(self, version: str) -> None:
        """Check that a policy loads and is what its name says.

        Raises:
            InputError: The name is none of a policy.
            CheckpointError: It doesn't, or isn't.
        """
        loaded = self.load(version)
        found = version_of(self._files.policy(version))
        if found != version or not version.startswith(loaded.version):
            raise CheckpointError(f"the content of {version} is that of {found}; add it again")

    def copy_in(self, policy: Checkpoint) -> str:
        """Write a policy under another name, read it back, rename it; the lock must be held.

        Returns:
            Its version. A policy of that version that is whole stays as it is.

        Raises:
            CheckpointError: What was written can't be read back, or a link is in the way.
        """
        files = self._files
        refuse_link(files.policies)
        files.policies.mkdir(exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=ADDING, dir=files.policies))
        try:
            written = temporary / "policy"
            save_checkpoint(policy, written)
            self.from_folder(written)
            version = version_of(written)
            place = files.policy(version)
            try:
                self.check(version)
            except CheckpointError:  # not there, or damaged since
                shutil.rmtree(place, ignore_errors=True)
                written.rename(place)
            return version
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def version_of(folder: Path) -> str:
    """Name of a policy's content: weights, features, actions and term weights.

    Raises:
        CheckpointError: Its manifest doesn't tell of them.
    """
    try:
        manifest = json.loads((folder / "manifest.json").read_bytes())
        parts = [manifest["files"], manifest["actions"], manifest["features"], manifest["columns"]]
        policy = manifest["policy"]["version"]
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"the manifest in {folder} is damaged: {error}") from None
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    return f"{policy}-{digest[:8]}"
