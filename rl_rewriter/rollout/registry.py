"""A folder of versioned policies of which one is in service."""

from __future__ import annotations

import getpass
import logging
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rl_rewriter.actions.base import Action
from rl_rewriter.errors import InputError, RewriterError
from rl_rewriter.folders import write_json, write_text
from rl_rewriter.logs.locked_file import locked
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.rollout.policy_store import PolicyStore
from rl_rewriter.rollout.registry_files import RegistryFiles, refuse_link
from rl_rewriter.rollout.state import (
    KEEP,
    MAX_NOTE,
    MAX_POLICIES,
    PolicyNote,
    RegistryState,
    Rollout,
)

_FEWEST_DIGITS = 4
_LAST_EVENTS = 64 << 10
"""Bytes at the end of the history that hold the last event, whatever its reason says."""
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class PolicyEntry:
    """One policy of a registry.

    Attributes:
        version: Its name.
        added: When it was added, in seconds since the epoch.
        note: What was said about it then.
        role: "current", "baseline", "previous" or "".
    """

    version: str
    added: float
    note: str
    role: str


class PolicyRegistry:
    """Policies under the version of their content, and a record of which one is served.

    ``policies/VERSION/`` holds each policy and never changes. ``state.json`` says what is served;
    it is replaced as a whole, so that a reader, who takes no lock, sees one state or the next. All
    changes are made under a lock on ``.lock``, which its holder's death frees; a change that was
    cut off has happened or hasn't. ``history.jsonl`` is only appended to. While the file ``KILL``
    exists, :class:`rl_rewriter.rollout.kill_switch.KillSwitch` keeps every query.

    Args:
        folder: The registry; :meth:`add` makes it where it doesn't exist.
        own_actions: Actions of the user's own that policies were trained with.
        who: Name in the history; the login name by default.
        clock: Seconds since the epoch.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        own_actions: Iterable[Action] = (),
        who: str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.files = RegistryFiles(Path(folder).absolute())
        self._store = PolicyStore(self.files, tuple(own_actions))
        self._who = (_login() if who is None else who)[:MAX_NOTE]
        self._clock = clock

    @property
    def folder(self) -> Path:
        """Where it stands."""
        return self.files.folder

    def add(self, policy: Checkpoint | str | Path, note: str = "") -> str:
        """Copy a policy in, which loads and which reads back as it is.

        Args:
            policy: A checkpoint, or the folder of a saved policy.
            note: Anything to be remembered with it.

        Returns:
            Its version: the 12 digits that the decision log calls ``policy_version``, and 8 of a
            hash of all that it decides by. A policy that is there already stays as it is.

        Raises:
            CheckpointError: It can't be used.
            InputError: The note is too long, or the registry is full.
        """
        if len(note) > MAX_NOTE:
            raise InputError(f"a note has at most {MAX_NOTE} characters, got {len(note)}")
        if not isinstance(policy, Checkpoint):
            policy = self._store.from_folder(Path(policy))
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._change() as state:
            version = self._store.copy_in(policy)
            if version in state.policies:
                return version
            if len(state.policies) >= MAX_POLICIES:
                raise InputError(f"a registry holds at most {MAX_POLICIES} policies; remove some")
            entry = PolicyNote(added=self._clock(), note=note)
            policies = {**state.policies, version: entry}
            self._write(replace(state, policies=policies), "add", version=version, note=note)
            return version

    def promote(
        self, version: str, *, share: float = 1.0, shadow: bool = False, reason: str = ""
    ) -> Rollout:
        """Serve a policy, to all sessions or to a share of them.

        What was served to all before is the baseline from then on: the other sessions get it, and
        a roll-back leads to it. Promoting the same policy again with another share goes on with the
        same rollout: a greater share adds sessions and takes none away.

        Args:
            version: A policy of the registry.
            share: Share of sessions that get it.
            shadow: Let it decide and be logged, but serve keep to those sessions.
            reason: For the history.

        Raises:
            InputError: There is no such policy, or no such share.
            CheckpointError: It is damaged.
        """
        wanted = Rollout(version=version, share=share, shadow=shadow, since=self._clock())
        with self._change(existing=True) as state:
            found = state.promoted(wanted)
            self._store.check(version)
            told = {"version": version, "share": share, "shadow": shadow, "reason": reason}
            self._write(found, "promote", **told)
            return found.current

    def roll_back(self, reason: str, *, only: str | None = None) -> Rollout | None:
        """Serve the baseline again, to all sessions.

        Args:
            reason: For the history.
            only: Name of the rollout that is meant; where another one has taken its place by now,
                nothing is done.

        Returns:
            What is served now; None where nothing was done.

        Raises:
            InputError: No policy is promoted.
        """
        with self._change(existing=True) as state:
            if only is not None and state.current.id != only:
                return None
            found = state.rolled_back(self._clock())
            version = found.current.version or KEEP
            told = {"version": version, "from": state.current.version, "reason": reason}
            self._write(found, "roll_back", **told)
            return found.current

    def remove(self, version: str) -> None:
        """Delete a policy that nothing leads to.

        Raises:
            InputError: There is no such policy, or it is served or may be rolled back to.
        """
        with self._change(existing=True) as state:
            state.require(version)
            role = state.role(version)
            if role:
                raise InputError(
                    f"{version} is in use ({role}); only what nothing leads to can be removed"
                )
            path = self.files.policy(version)
            policies = {name: note for name, note in state.policies.items() if name != version}
            self._write(replace(state, policies=policies), "remove", version=version)
            shutil.rmtree(path, ignore_errors=True)

    def switch_off(self, reason: str = "") -> None:
        """Engage the kill switch, whatever state the rest of the registry is in.

        Raises:
            InputError: There is no registry: nobody would look there.
        """
        self.files.require()
        write_text(self.files.kill, f"{self._who}: {reason}\n")
        try:
            with self._change() as state:
                self._write(state, "off", reason=reason)
        except (RewriterError, OSError) as error:
            _logger.warning("the history doesn't tell of the kill switch: %s", error)

    def switch_on(self, reason: str = "") -> None:
        """Release the kill switch.

        Raises:
            InputError: There is no registry.
        """
        self.files.require()
        self.files.kill.unlink(missing_ok=True)
        with self._change(existing=True) as state:
            self._write(state, "on", reason=reason)

    def state(self) -> RegistryState:
        """Everything that is known, at one moment.

        Raises:
            InputError: There is no registry.
            CheckpointError: Its state is damaged or missing.
        """
        return self.files.read_state()

    def current(self) -> Rollout:
        """What is served."""
        return self.state().current

    def baseline(self) -> str | None:
        """What sessions outside the share get, and a roll-back leads to; None is keep."""
        return self.state().baseline

    def list(self) -> tuple[PolicyEntry, ...]:
        """All policies, oldest first."""
        state = self.state()
        return tuple(
            PolicyEntry(version=name, added=note.added, note=note.note, role=state.role(name))
            for name, note in sorted(state.policies.items(), key=lambda item: item[1].added)
        )

    def history(self) -> tuple[dict[str, Any], ...]:
        """All changes, oldest first: ``time``, ``event``, ``revision``, ``who`` and what it took.

        Raises:
            InputError: There is no registry.
        """
        state = self.state()
        events = self.files.read_history()
        is_told = not state.event or any(e.get("revision") == state.revision for e in events[-50:])
        return tuple(events if is_told else (*events, dict(state.event)))

    def resolve(self, name: str) -> str:
        """The version that begins with ``name``.

        Raises:
            InputError: None does, or several do.
        """
        versions = self.state().policies
        found = [v for v in versions if v.startswith(name)] if len(name) >= _FEWEST_DIGITS else []
        if len(found) != 1:
            what = "several policies begin" if found else "no policy of the registry begins"
            raise InputError(
                f"{what} with {name[:60]!r}; give at least {_FEWEST_DIGITS} characters of a "
                "version that list shows"
            )
        return found[0]

    def load(self, version: str) -> Checkpoint:
        """Read one policy.

        Raises:
            InputError: The name is none of a policy.
            CheckpointError: It is missing or damaged, or a link stands in its place.
        """
        return self._store.load(version)

    def verify(self) -> tuple[str, ...]:
        """Load everything; what is wrong, a sentence each.

        Raises:
            InputError: There is no registry.
            CheckpointError: Its state is damaged or missing.
        """
        state, problems = self.state(), []
        for version in state.policies:
            try:
                self._store.check(version)
            except (RewriterError, OSError) as error:
                problems.append(f"{version}: {error}")
        for path in sorted(self.files.policies.glob("*")):
            if not path.name.startswith(".") and path.name not in state.policies:
                problems.append(f"{path.name}: it lies in {path.parent}, but was never added")
        return tuple(problems)

    @contextmanager
    def _change(self, *, existing: bool = False) -> Iterator[RegistryState]:
        """Give the state while nobody else changes it.

        Raises:
            InputError: There must be a registry, and there is none.
            CheckpointError: The state is damaged or missing.
        """
        if existing:
            self.files.require()
        refuse_link(self.files.lock)
        with locked(self.files.lock):
            state = self.files.read_state()
            self.files.sweep()
            yield state

    def _write(self, state: RegistryState, event: str, **told: Any) -> None:
        """Replace the state and tell the history; where one died between the two, tell it now."""
        self._tell(state.event)
        told = {name: v[:MAX_NOTE] if isinstance(v, str) else v for name, v in told.items()}
        revision = state.revision + 1
        record = {"time": self._clock(), "event": event, "revision": revision, "who": self._who}
        state = replace(state, revision=revision, event=record | told)
        write_json(self.files.state, state.to_json())
        self.files.append_history(state.event)

    def _tell(self, event: Mapping[str, Any]) -> None:
        last = self.files.read_history(_LAST_EVENTS)[-1:]
        if event and (not last or last[0].get("revision") != event.get("revision")):
            self.files.append_history(event)


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # no such user, as in many containers
        return "unknown"
