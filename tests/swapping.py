"""Many threads decide while the policy is swapped: which decisions belong to which version."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rl_rewriter import Query, RLQueryRewriter
from rl_rewriter.actions.space import ActionSpace, default_actions
from rl_rewriter.features.feature_set import FeatureSet, default_features
from rl_rewriter.logs.store import read_records
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.policies.mlp import Layer, MlpPolicy
from rl_rewriter.retrieval.evidence import gather
from rl_rewriter.retrieval.protocols import Retriever
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.types import RewriteDecision
from tests.support import DOCUMENTS, QUERIES

SPACES = (
    ("keep", "keywords"),
    ("keep", "rarest", "keywords"),
    ("keywords", "keep", "expand"),
    ("keep", "expand"),
)
"""Which actions each policy chooses from; no two give the same probabilities."""


def distinguishable(retriever: Retriever) -> list[Checkpoint]:
    """Policies that differ in actions, probabilities and features."""
    known = default_actions(retriever.offers)
    statistics = CollectionStatistics.from_texts(DOCUMENTS.values())
    whole = default_features(retriever.offers)
    made = []
    for row, wanted in enumerate(SPACES):
        names = [name for name in known.names if name.split("@")[0] in wanted][: 2 + row]
        actions: ActionSpace = known.named(names)
        groups = FeatureSet(whole.extractors[: 1 + row % len(whole.extractors)])
        evidence = gather([Query(q) for q in QUERIES], retriever, statistics, groups.needs)
        features = groups.fitted(evidence)
        bias = np.linspace(0.0, 1.0 + row, len(actions), dtype=np.float32)
        weight = np.zeros((len(actions), len(features.columns)), dtype=np.float32)
        policy = MlpPolicy((Layer(weight, bias),))
        made.append(Checkpoint(policy, actions, features, statistics))
    return made


@dataclass(frozen=True)
class Version:
    """How decisions of one version are known."""

    probabilities: Mapping[str, float]
    state_schema: str
    n_columns: int

    def made(self, decision: RewriteDecision) -> bool:
        """Whether all of a decision is this version's."""
        same = all(
            abs(decision.probabilities.get(name, -1.0) - p) < 1e-6
            for name, p in self.probabilities.items()
        )
        return (
            same
            and decision.probabilities.keys() == self.probabilities.keys()
            and decision.action in self.probabilities
            and decision.propensity == decision.probabilities[decision.action]
            and decision.state_schema == self.state_schema
            and len(decision.state or ()) == self.n_columns
        )


def versions_of(checkpoints: Sequence[Checkpoint], retriever: Retriever) -> dict[str, Version]:
    """Version -> how its decisions are known, each asked alone."""
    known = {}
    for checkpoint in checkpoints:
        alone = RLQueryRewriter(retriever, checkpoint=checkpoint)
        decision = alone.decide(QUERIES[0], explore=True)
        known[decision.policy_version] = Version(
            decision.probabilities,
            checkpoint.features.fingerprint,
            len(checkpoint.features.columns),
        )
    return known


@dataclass(frozen=True)
class Swapped:
    """What came of it.

    Attributes:
        decisions: All decisions.
        swaps: How often the policy was swapped.
        alive: Threads that didn't end in time.
    """

    decisions: Sequence[RewriteDecision]
    swaps: int
    alive: int

    def mixed(self, known: Mapping[str, Version]) -> int:
        """Decisions that belong to no version as a whole."""
        return sum(
            d.policy_version not in known or not known[d.policy_version].made(d)
            for d in self.decisions
        )

    def by_version(self) -> Counter[str]:
        """How many decisions each version made."""
        return Counter(decision.policy_version for decision in self.decisions)


def swap_under_load(
    rewriter: RLQueryRewriter,
    checkpoints: Sequence[Checkpoint],
    *,
    threads: int,
    requests: int,
    every: float,
    patience: float,
) -> Swapped:
    """Ask from many threads at once, and swap the policy meanwhile.

    Args:
        rewriter: With a retriever and a log.
        checkpoints: Swapped in one after the other.
        threads: How many ask.
        requests: How many questions each of them asks.
        every: Seconds between two swaps.
        patience: Seconds to wait for all threads.
    """
    decisions: list[RewriteDecision] = []
    over, swaps = threading.Event(), itertools.count()

    def ask(number: int) -> None:
        for row in range(requests):
            found = rewriter.retrieve(f"{QUERIES[row % len(QUERIES)]} {number} {row}", explore=True)
            rewriter.record(found.decision, found.ranking)
            decisions.append(found.decision)

    def swap() -> None:
        for checkpoint in itertools.cycle(checkpoints):
            if over.wait(every):
                return
            rewriter.swap(checkpoint)
            next(swaps)

    swapping = threading.Thread(target=swap, daemon=True)
    asking = [threading.Thread(target=ask, args=(n,), daemon=True) for n in range(threads)]
    for thread in (swapping, *asking):
        thread.start()
    for thread in asking:
        thread.join(patience)
    over.set()
    swapping.join(patience)
    alive = sum(thread.is_alive() for thread in (swapping, *asking))
    return Swapped(decisions, next(swaps), alive)


def differences(path: Path, decisions: Sequence[RewriteDecision]) -> list[str]:
    """What is wrong with a log: records that are missing, doubled, or say something else."""
    records = [record for record in read_records(path) if record["type"] == "decision"]
    by_id = {record["id"]: record for record in records}
    wrong = [f"{len(records) - len(by_id)} doubled"] if len(records) != len(by_id) else []
    for decision in decisions:
        record = by_id.pop(decision.id, None)
        if record is None or (record["policy_version"], record["action"]) != (
            decision.policy_version,
            decision.action,
        ):
            wrong.append(decision.id)
    return wrong + [f"{name} was asked for by nobody" for name in by_id]
