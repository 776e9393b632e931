"""What is served, what was served before, and which policies there are: one immutable record."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rl_rewriter.errors import InputError

KEEP = "keep"
"""Name, in tags and events, of serving no policy at all."""
MAX_POLICIES = 1_000
MAX_PREVIOUS = 20
"""Policies that are remembered to roll back to; older ones can be removed."""
MAX_NOTE = 500

_VERSION = re.compile(r"[0-9a-f]{12}-[0-9a-f]{8}")
_ROLLOUT = re.compile(r"[0-9a-f]{0,32}")


@dataclass(frozen=True, kw_only=True)
class Rollout:
    """How far one policy is brought into service.

    Attributes:
        version: The policy; None keeps every query.
        share: Share of sessions that get it, above 0 to 1; the others get the baseline.
        shadow: It decides and is logged, but keep is served.
        id: Salt of the hash that shares sessions out, and name of the rollout in the decision log.
            It stays while only the share changes.
        since: When it got this share, in seconds since the epoch.
        on_trial: It was promoted, and live rewards may roll it back. What was rolled back *to* is
            on no trial: one bad day would go through all earlier policies.
    """

    version: str | None = None
    share: float = 1.0
    shadow: bool = False
    id: str = ""
    since: float = 0.0
    on_trial: bool = False

    def __post_init__(self) -> None:
        """Refuse shares and names that mean nothing."""
        if self.version is not None:
            checked_version(self.version)
        if not 0.0 < self.share <= 1.0:
            raise InputError(f"share must lie above 0 and be at most 1, got {self.share}")
        if not _ROLLOUT.fullmatch(self.id):
            raise InputError(f"the name of a rollout must be hexadecimal, got {self.id[:40]!r}")

    @property
    def is_full(self) -> bool:
        """Whether every session is served by it."""
        return self.share == 1.0 and not self.shadow

    def to_json(self) -> dict[str, Any]:
        """All fields."""
        return dict(self.__dict__)


@dataclass(frozen=True, kw_only=True)
class PolicyNote:
    """What is known about a policy beside its content.

    Attributes:
        added: When it was added, in seconds since the epoch.
        note: Whoever added it may say why.
    """

    added: float
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class RegistryState:
    """All of a registry but the policies themselves.

    Attributes:
        revision: Grows by one with each change.
        current: What is served.
        previous: Policies that were served to all before, newest last; below them lies keep.
        policies: Version -> what is known about it.
        event: The change that led here, as it stands in the history.
    """

    revision: int = 0
    current: Rollout = Rollout()
    previous: tuple[str, ...] = ()
    policies: Mapping[str, PolicyNote] = field(default_factory=dict)
    event: Mapping[str, Any] = field(default_factory=dict)

    @property
    def baseline(self) -> str | None:
        """What sessions outside the share get, and what a roll-back leads to; None is keep."""
        return self.previous[-1] if self.previous else None

    def promoted(self, rollout: Rollout) -> RegistryState:
        """The state in which ``rollout`` is served.

        What was served to all until now becomes the baseline; a canary or a shadow that gives way
        does not.

        Raises:
            InputError: There is no such policy.
        """
        self.require(rollout.version)
        before, previous = self.current, self.previous
        is_same = before.version == rollout.version
        if before.is_full and before.version is not None and not is_same:
            previous = (*previous, before.version)[-MAX_PREVIOUS:]
        while previous and previous[-1] == rollout.version:
            previous = previous[:-1]
        continues = is_same and before.on_trial and before.shadow == rollout.shadow
        name = before.id if continues else uuid.uuid4().hex
        return replace(self, current=replace(rollout, id=name, on_trial=True), previous=previous)

    def rolled_back(self, now: float) -> RegistryState:
        """The state in which the baseline is served to all.

        Raises:
            InputError: Nothing is served that one could go back from.
        """
        if self.current.version is None:
            raise InputError("there is nothing to roll back: no policy is promoted")
        back = Rollout(version=self.baseline, id=uuid.uuid4().hex, since=now)
        return replace(self, current=back, previous=self.previous[:-1])

    def role(self, version: str) -> str:
        """What a policy is used for: "current", "baseline", "previous" or "" for nothing."""
        if version == self.current.version:
            return "current"
        if version == self.baseline:
            return "baseline"
        return "previous" if version in self.previous else ""

    def require(self, version: str | None) -> None:
        """Refuse the name of a policy that isn't here.

        Raises:
            InputError: It isn't.
        """
        if version is not None and version not in self.policies:
            raise InputError(
                f"the registry holds no policy {version[:60]!r}; list shows those it holds"
            )

    def to_json(self) -> dict[str, Any]:
        """What the state file holds."""
        return {
            "schema": 1,
            "revision": self.revision,
            "current": self.current.to_json(),
            "previous": list(self.previous),
            "policies": {version: dict(note.__dict__) for version, note in self.policies.items()},
            "event": dict(self.event),
        }


def checked_version(version: str) -> str:
    """The name of a policy, which is the name of a folder too.

    Raises:
        InputError: It is none.
    """
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        raise InputError(
            f"a version is 12 and 8 hexadecimal digits with a hyphen between, got "
            f"{str(version)[:60]!r}"
        )
    return version


def state_from_json(record: Any) -> RegistryState:
    """Read the state back, trusting nothing in it.

    Raises:
        ValueError: It is no state, or one of another schema.
        KeyError: Something is missing.
        TypeError: Something is of another type.
    """
    if not isinstance(record, dict) or record.get("schema") != 1:
        raise ValueError("it is not of schema 1")
    policies = {
        checked_version(version): PolicyNote(added=_number(note["added"]), note=str(note["note"]))
        for version, note in record["policies"].items()
    }
    current = dict(record["current"])
    state = RegistryState(
        revision=_whole(record["revision"]),
        current=Rollout(
            version=current["version"],
            share=_number(current["share"]),
            shadow=current["shadow"] is True,
            id=current["id"],
            since=_number(current["since"]),
            on_trial=current["on_trial"] is True,
        ),
        previous=tuple(checked_version(version) for version in record["previous"]),
        policies=policies,
        event=dict(record["event"]),
    )
    for version in (state.current.version, *state.previous):
        state.require(version)
    return state


def _number(value: Any) -> float:
    if type(value) not in (int, float):
        raise TypeError(f"{value!r:.60} is no number")
    return float(value)


def _whole(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TypeError(f"{value!r:.60} is no whole number")
    return int(value)
