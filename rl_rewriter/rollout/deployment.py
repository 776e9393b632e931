"""A registry as serving sees it: which policy decides for which session, right now."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rl_rewriter.errors import RewriterError
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.rollout.kill_switch import REASON as KILL_SWITCH
from rl_rewriter.rollout.kill_switch import KillSwitch
from rl_rewriter.rollout.registry import PolicyRegistry
from rl_rewriter.rollout.registry_files import Signature
from rl_rewriter.rollout.sharing import is_in_share
from rl_rewriter.rollout.state import RegistryState, Rollout
from rl_rewriter.rollout.tags import BASELINE, CANARY, FULL, SHADOW, tags_of
from rl_rewriter.serving.deployment import Assignment
from rl_rewriter.serving.reasons import UNTRAINED

NO_POLICY = "no_policy"
_LONGEST_LOAD = 60.0
"""Seconds after which a load that doesn't end is tried again by another request."""
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class _Loaded:
    """One state of the registry with its policies, swapped as a whole."""

    signature: Signature | None
    state: RegistryState
    checkpoints: Mapping[str, Checkpoint]
    candidate: Assignment
    baseline: Assignment

    def choose(self, session: str) -> Assignment:
        rollout = self.state.current
        inside = is_in_share(session, rollout.id, rollout.share)
        return self.candidate if inside else self.baseline


class RegistryDeployment:
    """Assigns the policies of a :class:`rl_rewriter.rollout.registry.PolicyRegistry`.

    A look at the registry is one ``stat`` every ``check_seconds``. The request that finds it
    changed reads it and loads what is new, while all others go on with what they have; then both
    are exchanged at once. Where that fails, what was served before is served further: it is
    warned of, counted, and tried again after ``retry_seconds``. Where nothing was ever loaded,
    queries are kept with "fallback:no_policy". Nothing here takes a lock.

    The same session is on the same side in every process, as long as the rollout lasts; a greater
    share takes none away. The caller gives the decision's id for a request without a session, so
    each such request is a coin of its own.

    Args:
        registry: The registry, or its folder.
        kill_switch: Asked at each request; by default the registry's file ``KILL`` and the
            environment variable ``RL_REWRITER_OFF``.
        check_seconds: How old the answer about the registry may be.
        retry_seconds: When to try again after a failure.
        clock: Seconds of any beginning that never go back.

    Attributes:
        errors: How often the registry or a policy in it couldn't be read.
    """

    def __init__(
        self,
        registry: PolicyRegistry | str | Path,
        *,
        kill_switch: KillSwitch | None = None,
        check_seconds: float = 1.0,
        retry_seconds: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.registry = (
            registry if isinstance(registry, PolicyRegistry) else PolicyRegistry(registry)
        )
        self.kill_switch = kill_switch or KillSwitch(self.registry.files.kill, clock=clock)
        self.errors = 0
        self._check_seconds = check_seconds
        self._retry_seconds = retry_seconds
        self._clock = clock
        self._loaded: _Loaded | None = None
        self._next_look = -float("inf")
        self._complaint = ""
        self._look_if_due()

    @property
    def versions(self) -> tuple[str, ...]:
        """Versions that are loaded: the current one and the baseline, where they are policies."""
        return tuple(self._loaded.checkpoints) if self._loaded is not None else ()

    def choose(self, session: str) -> Assignment:
        """The assignment of a session, or of a request that has none.

        Args:
            session: The conversation's name, else the decision's id.
        """
        if self.kill_switch.engaged():
            return Assignment(reason=KILL_SWITCH)
        self._look_if_due()
        loaded = self._loaded
        return Assignment(reason=NO_POLICY) if loaded is None else loaded.choose(session)

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and deepcopy: a copy looks for itself, perhaps on a machine of another clock.

        It takes along what is loaded.
        """
        return {**self.__dict__, "_next_look": -float("inf")}

    def _look_if_due(self) -> None:
        now = self._clock()
        if now < self._next_look:
            return
        # Other requests pass by meanwhile; two that come at the very same time both look.
        self._next_look = now + _LONGEST_LOAD
        wait = self._retry_seconds
        try:
            self._look()
            self._complaint = ""
            wait = self._check_seconds
        except (RewriterError, OSError) as error:
            self._complain(str(error))
        except Exception as error:  # an action of the user's own, or memory
            self._complain(f"{type(error).__name__}: {error}")
        finally:
            self._next_look = self._clock() + wait

    def _look(self) -> None:
        before = self._loaded
        signature = self.registry.files.signature()
        if before is not None and signature == before.signature:
            return
        state = self.registry.state()
        known = {} if before is None else before.checkpoints
        self._loaded = _load(self.registry, signature, state, known)

    def _complain(self, error: str) -> None:
        self.errors += 1
        if error != self._complaint:
            self._complaint = error
            going_on = "queries are kept" if self._loaded is None else "serving what it had"
            _logger.warning("the policy registry can't be used, %s: %s", going_on, error)


def _load(
    registry: PolicyRegistry,
    signature: Signature | None,
    state: RegistryState,
    known: Mapping[str, Checkpoint],
) -> _Loaded:
    """Read the policies that a state asks for, apart from those at hand."""
    current = state.current
    wanted = [current.version] if current.share == 1.0 else [current.version, state.baseline]
    checkpoints = {
        version: known[version] if version in known else registry.load(version)
        for version in wanted
        if version is not None
    }
    stage = SHADOW if current.shadow else FULL if current.is_full else CANARY
    candidate = _assignment(checkpoints, current, current.version, stage)
    baseline = _assignment(checkpoints, current, state.baseline, BASELINE)
    return _Loaded(signature, state, checkpoints, candidate, baseline)


def _assignment(
    checkpoints: Mapping[str, Checkpoint], rollout: Rollout, version: str | None, stage: str
) -> Assignment:
    checkpoint = None if version is None else checkpoints.get(version)
    return Assignment(
        checkpoint=checkpoint,
        tags=tags_of(rollout, version, stage),
        shadow=stage == SHADOW,
        reason=UNTRAINED,
    )
