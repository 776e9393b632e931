"""One fault a request, anywhere in what is ours, while the wrapped retriever stays healthy.

The fault of a request is a context variable: our threads work in a copy of the caller's context,
so each of them meets the fault of its own request alone. A slow dependency stalls for ten seconds,
or until its request has its answer; every fortieth stalls for the ten seconds in any case.
"""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from chromadb.api.models.Collection import Collection

import rl_rewriter.rewriter as rewriting
from rl_rewriter.actions.llm import LlmRewrite
from rl_rewriter.actions.space import ActionSpace, default_actions
from rl_rewriter.logs.claim import Claim
from rl_rewriter.logs.store import DecisionLog
from rl_rewriter.policies.categorical import Categorical
from rl_rewriter.policies.checkpoint import Checkpoint, load_checkpoint
from rl_rewriter.retrieval.bm25 import Bm25Index
from rl_rewriter.retrieval.protocols import Retriever
from rl_rewriter.rollout.kill_switch import KillSwitch
from rl_rewriter.serving.deployment import Assignment
from rl_rewriter.serving.events import Served
from rl_rewriter.types import Evidence, Matrix, RewriteDecision, ScoredDocument
from tests.faults import Faulty, with_policy
from tests.support import TokenEmbedder, fixed_checkpoint

SLOW_SECONDS = 10.0
_REALLY_SLOW = 40
"""One slow fault of so many lasts its ten seconds though its request is over."""
_OURS = "rl-rewriter"
"""What the names of our threads begin with."""

_GONE_WRONG = ("fails", "slow", "rubbish")
FAULTS: Mapping[str, Mapping[str, str]] = {
    "nothing": {"": ""},
    "embedder": dict(zip(_GONE_WRONG, ("evidence", "timeout", "evidence"), strict=True)),
    "evidence": dict(zip(_GONE_WRONG, ("evidence", "timeout", "evidence"), strict=True)),
    "bm25": dict(zip(_GONE_WRONG, ("evidence", "timeout", "evidence"), strict=True)),
    "features": dict(zip(_GONE_WRONG, ("policy_error", "timeout", "policy_error"), strict=True)),
    "policy": dict(zip(_GONE_WRONG, ("policy_error", "timeout", "policy_error"), strict=True)),
    "action": dict(zip(_GONE_WRONG, ("action_error", "timeout", "action_error"), strict=True)),
    "llm": {"fails": "", "slow": "timeout", "rubbish": ""},
    "search": dict(zip(_GONE_WRONG, ("search", "timeout", "search"), strict=True)),
    "log": {"fails": "log_write", "slow": "log_write", "full": "log_write"},
    "listener": {"fails": "", "slow": ""},
    "deployment": dict(zip(_GONE_WRONG, ("adapter", "timeout", "adapter"), strict=True)),
    "kill switch": {"fails": "kill_switch", "rubbish": "kill_switch", "file": "kill_switch"},
    "reload": {"missing": "", "rubbish": "", "slow": ""},
}
"""Where -> how -> the fallback that must be named; "" where the policy's decision stands."""
KINDS = [(where, how) for where, hows in FAULTS.items() for how in hows]
_ACTIONS = {"action": "faulty", "llm": "llm:rephrase", "search": "fuse_bm25@0.6"}
"""What the policy does where that matters; keywords elsewhere."""


@dataclass(eq=False)
class Fault:
    """What goes wrong in one request.

    Attributes:
        where: The dependency.
        how: "fails", "slow", "rubbish" or another word of :data:`FAULTS`.
        outlasts: Whether a slow one goes on when its request is over.
        hit: Whether the dependency was asked, and so went wrong.
        searches: Searches of the collection that were made in our threads.
        base_seconds: What the wrapped retriever's own embedding and search took.
    """

    where: str
    how: str
    outlasts: bool = False
    hit: bool = False
    searches: int = 0
    base_seconds: float = 0.0
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def reason(self) -> str:
        """The decision's reason, where the fault was met."""
        name = FAULTS[self.where][self.how] if self.hit else ""
        return f"fallback:{name}" if name else "policy"

    @property
    def keeps(self) -> bool:
        """Whether the documents must be the wrapped retriever's own for the query."""
        return self.reason != "policy" or self.where == "llm"

    def stall(self) -> None:
        (threading.Event() if self.outlasts else self.over).wait(SLOW_SECONDS)


CURRENT: ContextVar[Fault | None] = ContextVar("fault", default=None)


class InjectedError(Exception):
    """What a failing dependency raises."""


def met(where: str) -> str:
    """Go wrong where that is this request's fault: raises, stalls, or says "rubbish"."""
    fault = CURRENT.get()
    if fault is None or fault.where != where:
        return ""
    fault.hit = True
    if fault.how == "fails":
        raise InjectedError
    if fault.how == "slow":
        fault.stall()
    return fault.how


def is_ours() -> bool:
    """Whether this runs in a thread of ours: elsewhere it is the wrapped retriever that asks."""
    return threading.current_thread().name.startswith(_OURS)


@contextmanager
def as_base() -> Iterator[None]:
    """Time what the wrapped retriever itself does."""
    fault, started = CURRENT.get(), time.perf_counter()
    try:
        yield
    finally:
        if fault is not None:
            fault.base_seconds += time.perf_counter() - started


class ChaosEmbedder(TokenEmbedder):
    """Goes wrong for us, and serves the wrapped retriever."""

    name = "chaos"

    def embed_query(self, text: str) -> list[float]:
        """A vector, or none."""
        if not is_ours():
            with as_base():
                return super().embed_query(text)
        vector = super().embed_query(text)
        return [math.nan] * len(vector) if met("embedder") == "rubbish" else vector


class ChaosText:
    """Features of the text that go wrong."""

    def __init__(self, sound: Any) -> None:
        self._sound = sound
        self.columns, self.needs = sound.columns, sound.needs

    def extract(self, evidence: Sequence[Evidence]) -> Matrix:
        """Columns, or NaN."""
        columns: Matrix = self._sound.extract(evidence)
        return columns * np.float32(np.nan) if met("features") == "rubbish" else columns


class ChaosPolicy:
    """A policy that goes wrong."""

    name = "chaos"

    def __init__(self, sound: Any) -> None:
        self._sound = sound
        self.version = sound.version
        self.n_actions, self.n_features = sound.n_actions, sound.n_features

    def distribution(self, states: Any, mask: Any) -> Any:
        """Probabilities, or negative ones."""
        if met("policy") == "rubbish":
            return Categorical(-np.ones(mask.shape))
        return self._sound.distribution(states, mask)


class ChaosDeployment:
    """Gives each request the policy that its fault is in.

    Args:
        checkpoints: Where -> policy.
    """

    def __init__(self, checkpoints: Mapping[str, Checkpoint]) -> None:
        self._checkpoints = checkpoints

    def choose(self, session: str) -> Assignment:
        """The policy of this request."""
        fault = CURRENT.get()
        if met("deployment") == "rubbish":
            return None  # type: ignore[return-value]  # that is the fault
        return Assignment(checkpoint=self._checkpoints["" if fault is None else fault.where])


class ChaosLog(DecisionLog):
    """A log that can't be written, is late, or stands on a full disk."""

    full = DecisionLog("/dev/full")

    def append_decision(
        self,
        decision: RewriteDecision,
        documents: Sequence[ScoredDocument],
        tags: Mapping[str, Any] | None = None,
        *,
        claim: Claim | None = None,
    ) -> bool:
        """Write it, or not."""
        if met("log") == "full":
            return self.full.append_decision(decision, documents, tags, claim=claim)
        return super().append_decision(decision, documents, tags, claim=claim)


class Told:
    """A healthy listener that keeps what it hears, followed by one that goes wrong."""

    def __init__(self) -> None:
        self.served: dict[str, Served] = {}
        self.twice = 0

    def keep(self, served: Served) -> None:
        """Remember a request."""
        self.twice += served.decision.id in self.served
        self.served[served.decision.id] = served

    def go_wrong(self, served: Served) -> None:
        """Raise, or stall."""
        met("listener")


class ChaosSwitch:
    """A kill switch that fails, answers what is neither yes nor no, or finds its file.

    Args:
        path: A file that exists.
    """

    def __init__(self, path: Path) -> None:
        self._file = KillSwitch(path, check_seconds=0.0)

    def __call__(self) -> bool:
        """Whether it is on."""
        how = met("kill switch")
        if how == "rubbish":
            return np.ones(2)  # type: ignore[return-value]  # that is the fault
        return how == "file" and self._file.engaged()


def chaos_checkpoints(retriever: Retriever) -> dict[str, Checkpoint]:
    """Where -> a policy that asks every dependency, and does what shows that fault."""
    space: ActionSpace = default_actions(retriever.offers).extended(
        [Faulty(_made), LlmRewrite(_answered)]
    )
    actions = {name: _ACTIONS.get(name, "keywords") for name in ("", *FAULTS)}
    made = {
        action: _with_faults(fixed_checkpoint(retriever, action, actions=space))
        for action in set(actions.values())
    }
    return {where: made[action] for where, action in actions.items()}


def _with_faults(checkpoint: Checkpoint) -> Checkpoint:
    first, *others = checkpoint.features.extractors
    features = replace(checkpoint.features, extractors=(ChaosText(first), *others))
    policy = ChaosPolicy(checkpoint.policy)
    return with_policy(replace(checkpoint, features=features), policy)


def _made(evidence: Evidence) -> Any:
    return "no rewrite" if met("action") == "rubbish" else None


def _answered(prompt: str) -> str:
    return "\x00\n\n" if met("llm") == "rubbish" else "money card"


@contextmanager
def injected() -> Iterator[None]:
    """Searches of Chroma and BM25 go wrong where they are ours, and loading, within the block."""
    query: Any = Collection.query
    top, load = Bm25Index.top, load_checkpoint

    def chaotic_query(self: Any, *args: Any, **settings: Any) -> Any:
        fault = CURRENT.get()
        if fault is None:
            return query(self, *args, **settings)
        if not is_ours():
            with as_base():
                return query(self, *args, **settings)
        fault.searches += 1
        how = met("evidence" if fault.searches == 1 else "search")
        found = query(self, *args, **settings)
        if how == "rubbish":
            found["distances"] = [[math.nan] * len(row) for row in found["distances"]]
        return found

    def chaotic_top(self: Any, *args: Any, **settings: Any) -> Any:
        found = top(self, *args, **settings)
        if met("bm25") == "rubbish":
            return replace(found, scores=np.full(len(found), np.nan, dtype=np.float32))
        return found

    def chaotic_load(folder: Path, **settings: Any) -> Checkpoint:
        met("reload")
        return load(folder, **settings)

    with ExitStack() as stack:
        for owner, name, chaotic in (
            (Collection, "query", chaotic_query),
            (Bm25Index, "top", chaotic_top),
            (rewriting, "load_checkpoint", chaotic_load),
        ):
            stack.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, chaotic)
        yield


def mixed_faults(n: int, seed: int = 0) -> list[Fault]:
    """Faults of all kinds, equally many of each, in random order."""
    rng = np.random.default_rng(seed)
    kinds = [kind for kind, _ in zip(itertools.cycle(KINDS), range(n), strict=False)]
    slow = itertools.count(1)
    faults = []
    for row in rng.permutation(n):
        where, how = kinds[row]
        outlasts = how == "slow" and next(slow) % _REALLY_SLOW == 0
        faults.append(Fault(where, how, outlasts))
    return faults
