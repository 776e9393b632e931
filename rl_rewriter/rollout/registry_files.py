"""The files of a registry, read within bounds and never through a symbolic link."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from rl_rewriter.errors import CheckpointError, InputError
from rl_rewriter.logs.encoding import to_line
from rl_rewriter.logs.locked_file import append_line, locked
from rl_rewriter.rollout.state import RegistryState, checked_version, state_from_json
from rl_rewriter.untrusted import parse_json, read_regular

STATE, HISTORY, LOCK, KILL, POLICIES = "state.json", "history.jsonl", ".lock", "KILL", "policies"
ADDING = ".adding-"
"""Begins the name of a policy's folder while it is written."""
_MAX_STATE = 4 << 20
_MAX_HISTORY = 16 << 20

Signature = tuple[int, int, int]
"""Inode, modification time in nanoseconds, size: what changes when a file is replaced."""


class RegistryFiles:
    """Names and contents of the files in one folder.

    Args:
        folder: The registry; it need not exist yet.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / STATE
        self.history = folder / HISTORY
        self.lock = folder / LOCK
        self.kill = folder / KILL
        self.policies = folder / POLICIES

    def policy(self, version: str) -> Path:
        """Folder of one policy.

        Raises:
            InputError: The name is none of a policy.
            CheckpointError: A link stands in its place, which may lead anywhere.
        """
        found = self.policies / checked_version(version)
        for path in (self.policies, found):
            refuse_link(path)
        if found.is_dir():
            for path in found.iterdir():
                refuse_link(path)
        return found

    def require(self) -> None:
        """Refuse a folder that isn't there.

        Raises:
            InputError: It isn't.
        """
        if not self.folder.is_dir():
            raise InputError(f"there is no policy registry at {self.folder}; add makes one")

    def signature(self) -> Signature | None:
        """Signature of the state file; None where there is none.

        Raises:
            OSError: The folder can't be looked into.
        """
        try:
            found = os.lstat(self.state)
        except FileNotFoundError:
            self.require()
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def read_state(self) -> RegistryState:
        """The state as a whole, without waiting for anybody; a new one where nothing was added.

        Raises:
            InputError: There is no registry.
            CheckpointError: The state is damaged or missing.
        """
        try:
            content = _read(self.state, _MAX_STATE)
        except FileNotFoundError:
            self.require()
            if self.history.exists():
                raise CheckpointError(
                    f"{self.state} is missing, although {HISTORY} tells of changes; restore it"
                ) from None
            return RegistryState()
        try:
            return state_from_json(parse_json(content))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CheckpointError(f"{self.state} is damaged: {error}; restore it") from None

    def append_history(self, event: Mapping[str, Any]) -> None:
        """Append one event; the registry's lock must be held."""
        refuse_link(self.history)
        with locked(self.history) as handle:
            append_line(handle, to_line(event))

    def read_history(self, limit: int = _MAX_HISTORY) -> list[dict[str, Any]]:
        """Events, oldest first; a line that is none, such as a torn one, is passed over.

        Args:
            limit: Bytes at the end of the file that are read.
        """
        refuse_link(self.history)
        if not self.history.is_file():
            return []
        with self.history.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - limit))
            content = file.read(limit)
        events = []
        for line in content.splitlines():
            with suppress(ValueError):
                event = parse_json(line)
                if isinstance(event, dict):
                    events.append(event)
        return events

    def sweep(self) -> None:
        """Delete what a process that died left behind; the registry's lock must be held."""
        for path in self.policies.glob(f"{ADDING}*"):
            if not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
        for name in (STATE, KILL):  # whole files are written under such a name, then renamed
            for path in self.folder.glob(f".{name}-*"):
                path.unlink(missing_ok=True)


def refuse_link(path: Path) -> None:
    """Refuse a symbolic link.

    Raises:
        CheckpointError: It is one.
    """
    if path.is_symlink():
        raise CheckpointError(f"{path} is a symbolic link, which a registry doesn't follow")


def _read(path: Path, limit: int) -> bytes:
    """Content of a regular file that is no link.

    Raises:
        FileNotFoundError: There is none.
        CheckpointError: It is something else, too long, or can't be read.
    """
    refuse_link(path)
    try:
        return read_regular(path, limit)
    except FileNotFoundError:
        raise
    except InputError as error:
        raise CheckpointError(str(error)) from None
    except OSError as error:
        raise CheckpointError(f"{path} can't be read: {os.strerror(error.errno or 0)}") from None
