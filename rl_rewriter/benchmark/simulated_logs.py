"""Logs as a running chain would have written them, made of queries whose answers are judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from pathlib import Path

import numpy as np

from rl_rewriter.benchmark.tables import outcome_source
from rl_rewriter.benchmark.workbench import Workbench
from rl_rewriter.envs.outcomes import Outcomes
from rl_rewriter.errors import InputError
from rl_rewriter.logs.store import DecisionLog
from rl_rewriter.policies.categorical import Categorical
from rl_rewriter.policies.checkpoint import Checkpoint, load_checkpoint
from rl_rewriter.policies.exploration import EVENLY, THE_POLICY, Exploration
from rl_rewriter.policies.starting import starting_checkpoint
from rl_rewriter.retrieval.evidence import gather
from rl_rewriter.rewards.reward import Table
from rl_rewriter.text.digests import digest
from rl_rewriter.types import (
    Evidence,
    Feedback,
    Needs,
    OnProgress,
    Query,
    Rewrite,
    RewriteDecision,
    ScoredDocument,
)

START = 1_700_000_000.0
"""Time of the first simulated decision; one a second from there."""


@dataclass(frozen=True, eq=False)
class LoggingPolicy:
    """Who decides in a simulated log.

    Attributes:
        checkpoint: The policy.
        exploration: What its actions are drawn from.
    """

    checkpoint: Checkpoint
    exploration: Exploration

    @classmethod
    def parse(cls, text: str, bench: Workbench) -> LoggingPolicy:
        """Read "uniform", "epsilon:0.1" (around keep), or the folder of a saved policy.

        Raises:
            InputError: It is none of them, or epsilon isn't in [0, 1].
            CheckpointError: The folder holds no usable policy.
        """
        kind, _, share = text.partition(":")
        if text != "uniform" and kind != "epsilon":
            return cls(load_checkpoint(Path(text), own_actions=bench.actions), THE_POLICY)
        exploration = EVENLY
        if kind == "epsilon":
            exploration = Exploration(around="keep", epsilon=_share(share, text))
        actions = bench.actions.possible_for(bench.train, bench.retriever.offers)
        return cls(starting_checkpoint(bench.retriever, actions=actions), exploration)


def simulate_logs(
    bench: Workbench,
    policy: LoggingPolicy,
    out: Path,
    *,
    n: int,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> int:
    """Write decisions about training queries, with exact propensities and the metric as feedback.

    Queries are drawn with replacement. The query's name is the session in ``tags``, so that
    repeated queries are told apart from new ones. Decisions of two logs have the same names only
    where all of this is the same: a log that taught a policy isn't taken for one that judges it.

    Args:
        bench: The collection; held-out queries are never asked.
        policy: Who decides.
        out: The log to write; must not exist.
        n: Decisions.
        seed: Seed of queries and actions.
        on_progress: Told how far it is.

    Returns:
        The number of decisions written.

    Raises:
        InputError: ``n`` is below 1, the file exists, or the policy looks at what this retriever
            doesn't offer.
    """
    if n < 1:
        raise InputError(f"at least one decision is needed, got {n}")
    if out.exists():
        raise InputError(f"{out} exists; a simulated log isn't mixed with another: give a new file")
    tell = on_progress or (lambda stage, done, total: None)
    log = DecisionLog(out)
    decisions = _decisions(bench, policy, n, seed, on_progress)
    for done, (decision, documents, value) in enumerate(decisions, start=1):
        log.append_decision(decision, documents, {"session_id": decision.query.id})
        kind = bench.reward.metric.name
        log.append_feedback(Feedback(decision.id, value, kind, decision.time + 1.0))
        tell("writing the log", done, n)
    return n


def _share(number: str, text: str) -> float:
    try:
        return float(number)
    except ValueError:
        raise InputError(f'a logging policy is written like "epsilon:0.1", got {text!r}') from None


def _decisions(
    bench: Workbench, policy: LoggingPolicy, n: int, seed: int, on_progress: OnProgress | None
) -> Iterator[tuple[RewriteDecision, list[ScoredDocument], float]]:
    checkpoint, queries = policy.checkpoint, bench.train
    lacking = checkpoint.features.needs & ~bench.retriever.offers
    if lacking:
        raise InputError(
            f"the policy looks at {lacking.in_words} but the {bench.retriever.name} retriever "
            "doesn't offer it; use the base and store that it was trained with"
        )
    rng = np.random.default_rng(seed)
    source = outcome_source(bench, checkpoint.statistics, on_progress)
    metric = bench.reward.metric
    found = source(queries, checkpoint.actions, checkpoint.features, metric.depth)
    values = metric.values(found.judged(bench.qrels))
    own, drawn = _distributions(policy, found)
    rows = rng.integers(0, len(queries), n)
    taken = Categorical(drawn[rows]).sample(rng)
    evidence = _evidence(bench, checkpoint, queries, set(taken.tolist()))
    log = digest([bench.name, checkpoint.version, repr(policy.exploration), str(n), str(seed)])[:12]
    for number, (row, action) in enumerate(zip(rows.tolist(), taken.tolist(), strict=True)):
        decision = _decision(
            policy, evidence[row], found, row, action, (own[row], drawn[row]), f"{log}-{number}"
        )
        documents = [
            ScoredDocument(found.documents[place], None)
            for place in found.ranked[row, action, : metric.depth].tolist()
            if place >= 0
        ]
        yield decision, documents, float(values[row, action])


def _distributions(policy: LoggingPolicy, found: Outcomes) -> tuple[Table, Table]:
    """The policy's own probabilities and those that actions are drawn from, ``(n, m)`` each."""
    states = policy.checkpoint.features.standardised(found.features)
    own = policy.checkpoint.policy.distribution(states, found.mask).probabilities
    return own, policy.exploration.of(own, found.action_names)


def _evidence(
    bench: Workbench, checkpoint: Checkpoint, queries: Sequence[Query], taken: set[int]
) -> list[Evidence]:
    """What the actions that are taken rewrite by."""
    needs = reduce(or_, (checkpoint.actions[action].needs for action in taken), Needs.NOTHING)
    return gather(queries, bench.retriever, checkpoint.statistics, needs & ~Needs.HISTORY)


def _decision(
    policy: LoggingPolicy,
    evidence: Evidence,
    found: Outcomes,
    row: int,
    action: int,
    probabilities: tuple[np.ndarray, np.ndarray],
    name: str,
) -> RewriteDecision:
    checkpoint, query = policy.checkpoint, evidence.query
    evidence.features = found.features[row]
    chosen = checkpoint.actions[action]
    possible = np.flatnonzero(found.mask[row]).tolist()
    own, drawn = (
        {found.action_names[column]: float(side[column]) for column in possible}
        for side in probabilities
    )
    return RewriteDecision(
        id=f"simulated-{name}",
        query=query,
        rewrite=chosen.rewrite(evidence) or Rewrite.keep(query),
        action=chosen.name,
        strength=chosen.strength,
        propensity=drawn[chosen.name],
        probabilities=drawn,
        preferences=own,
        policy_name=checkpoint.policy.name,
        policy_version=checkpoint.version,
        reason="explored",
        state=tuple(found.features[row].tolist()),
        state_schema=checkpoint.features.fingerprint,
        time=START + 2.0 * int(name.split("-")[-1]),
        blends=checkpoint.blend_versions,
    )
