"""Logs as a running chain would have written them, made of queries whose answers are judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from pathlib import Path

import numpy as np

from rl_rewriter.benchmark.logging_policy import LoggingPolicy
from rl_rewriter.benchmark.tables import outcome_source
from rl_rewriter.benchmark.workbench import Workbench
from rl_rewriter.envs.outcomes import Outcomes
from rl_rewriter.errors import InputError
from rl_rewriter.logs.store import DecisionLog
from rl_rewriter.policies.categorical import Categorical
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.policies.drawing import Drawing, carried_out
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
    own, drawn = _distributions(policy, found)
    rows = rng.integers(0, len(queries), n)
    taken = Categorical(drawn[rows]).sample(rng)
    sigma = policy.exploration.sigma if checkpoint.blends else 0.0
    simulation = _Simulation(
        bench=bench,
        checkpoint=checkpoint,
        found=found,
        values=metric.values(found.judged(bench.qrels)),
        own=own,
        drawn=drawn,
        evidence=_evidence(bench, checkpoint, queries, set(taken.tolist())),
        drawing=Drawing(sigma, rng) if sigma else None,
    )
    log = digest([bench.name, checkpoint.version, repr(policy.exploration), str(n), str(seed)])[:12]
    for number, (row, action) in enumerate(zip(rows.tolist(), taken.tolist(), strict=True)):
        decision = simulation.decide(row, action, f"simulated-{log}-{number}", START + 2.0 * number)
        ids, value = simulation.shown(row, action, decision)
        yield decision, [ScoredDocument(id_, None) for id_ in ids], value


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


@dataclass(frozen=True, kw_only=True, eq=False)
class _Simulation:
    """What decisions about ``n`` queries by ``m`` actions are made of.

    Attributes:
        bench: What is searched, and judges.
        checkpoint: The policy.
        found: Outcomes of every action, its weights served as they are where it is a blend.
        values: What they are worth, ``(n, m)``.
        own: The policy's own probabilities, ``(n, m)``.
        drawn: Those that actions are drawn from, ``(n, m)``.
        evidence: What the actions rewrite by, one a query.
        drawing: How weights of a blend are drawn; None where none are.
    """

    bench: Workbench
    checkpoint: Checkpoint
    found: Outcomes
    values: Table
    own: Table
    drawn: Table
    evidence: Sequence[Evidence]
    drawing: Drawing | None

    def decide(self, row: int, action: int, name: str, time: float) -> RewriteDecision:
        """The decision to take an action, its weights drawn where it is a blend."""
        checkpoint, evidence = self.checkpoint, self.evidence[row]
        evidence.features = self.found.features[row]
        chosen = checkpoint.actions[action]
        done = carried_out(chosen, evidence, self.drawing)
        possible = np.flatnonzero(self.found.mask[row]).tolist()
        own, drawn = (
            {self.found.action_names[column]: float(side[row, column]) for column in possible}
            for side in (self.own, self.drawn)
        )
        return RewriteDecision(
            id=name,
            query=evidence.query,
            rewrite=done.rewrite or Rewrite.keep(evidence.query),
            action=chosen.name,
            strength=chosen.strength,
            propensity=drawn[chosen.name],
            probabilities=drawn,
            preferences=own,
            policy_name=checkpoint.policy.name,
            policy_version=checkpoint.version,
            reason="explored",
            state=tuple(self.found.features[row].tolist()),
            state_schema=checkpoint.features.fingerprint,
            time=time,
            blends=checkpoint.blend_versions,
            sigma=self.drawing.sigma if self.drawing is not None else 0.0,
            weights=done.weights,
            log_density=done.log_density,
        )

    def shown(self, row: int, action: int, decision: RewriteDecision) -> tuple[list[str], float]:
        """Ids of the documents that came back, and their worth; drawn weights are searched anew."""
        metric, query = self.bench.reward.metric, decision.query
        if decision.log_density is None:
            places = self.found.ranked[row, action, : metric.depth].tolist()
            ids = [self.found.documents[place] for place in places if place >= 0]
            return ids, float(self.values[row, action])
        [ranking] = self.bench.retriever.search(
            [decision.rewrite], k=metric.depth, filters=[query.filters]
        )
        return list(ranking.ids), metric(ranking.ids, self.bench.qrels.get(query.id, {}))
