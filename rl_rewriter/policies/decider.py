"""From a query to a decision: evidence, state, probabilities, action, rewrite."""

from __future__ import annotations

import logging
import math
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rl_rewriter.actions.base import KEEP, Action
from rl_rewriter.policies.categorical import Categorical
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.policies.exploration import THE_POLICY, Exploration
from rl_rewriter.retrieval.evidence import EVIDENCE_DEPTH, extend, gather
from rl_rewriter.retrieval.protocols import Retriever
from rl_rewriter.rewards.reward import RewardConfig
from rl_rewriter.types import Evidence, Needs, Query, Rewrite, RewriteDecision

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Plan:
    """A decision and what was looked at for it, so that nothing is searched twice.

    Attributes:
        decision: What to do.
        evidence: What was gathered; None where the query was kept without a look.
    """

    decision: RewriteDecision
    evidence: Evidence | None = None


@dataclass(frozen=True, eq=False)
class Decider:
    """Decides by one checkpoint; immutable, so that a running one can be swapped for another.

    Attributes:
        checkpoint: The trained policy with all that belongs to it.
    """

    checkpoint: Checkpoint

    @cached_property
    def version(self) -> str:
        """Version of the policy."""
        return self.checkpoint.policy.version

    @cached_property
    def _prices(self) -> RewardConfig:
        """The prices that it was trained with."""
        settings = self.checkpoint.training.get("settings", {}).get("reward")
        return RewardConfig.from_json(settings) if settings else RewardConfig()

    def plan(
        self,
        query: Query,
        retriever: Retriever,
        *,
        rng: np.random.Generator | None = None,
        exploration: Exploration = THE_POLICY,
        depth: int = EVIDENCE_DEPTH,
        with_documents: bool = False,
        decision_id: str | None = None,
        allowed: Needs | None = None,
    ) -> Plan:
        """Decide for one query; never raises: what fails leads to keep, with a named reason.

        Args:
            query: The query.
            retriever: Where evidence is searched, and what decides which actions are possible.
            rng: Draw the action; None takes the policy's most probable one.
            exploration: What it is drawn from.
            depth: Documents of the first ranking, so that it can be served where the query is kept.
            with_documents: Whether the first ranking carries texts and metadata.
            decision_id: Name of the decision; a random one where none is given.
            allowed: What actions may need, where the search that follows isn't ``retriever``'s: a
                text-only retriever can follow a decision for which another one gave evidence.
        """
        started = time.perf_counter()
        if not query.is_searchable:
            reason = "long_query" if query.text.strip() else "blank_query"
            return Plan(self._kept(query, reason, decision_id))
        stage, evidence = "evidence", None
        try:
            if self.checkpoint.features.needs & ~retriever.offers:
                return Plan(self._kept(query, "missing_evidence", decision_id))
            [evidence] = gather(
                [query],
                retriever,
                self.checkpoint.statistics,
                self.checkpoint.features.needs,
                depth=depth,
                with_documents=with_documents,
            )
            stage = "policy_error"
            offers = retriever.offers if allowed is None else allowed
            choice = self._choose(evidence, offers, rng, exploration)
            stage = "action_error"
            action = self.checkpoint.actions[choice.action]
            rewrite = _carry_out(
                action, evidence, retriever, depth=depth, with_documents=with_documents
            )
            cost = self._prices.price(rewrite, query)
        except Exception as error:
            _logger.warning("query kept (fallback:%s): %s", stage, type(error).__name__)
            _logger.debug("query kept", exc_info=True)
            return Plan(self._kept(query, stage, decision_id), evidence)
        decision = RewriteDecision(
            id=decision_id or uuid.uuid4().hex,
            query=query,
            rewrite=rewrite,
            action=action.name,
            strength=action.strength,
            propensity=choice.probabilities[action.name],
            probabilities=choice.probabilities,
            preferences=choice.preferences,
            policy_name=self.checkpoint.policy.name,
            policy_version=self.version,
            reason="policy" if rng is None else "explored",
            state=choice.state,
            state_schema=self.checkpoint.features.fingerprint,
            time=time.time(),
            latency_ms=1000.0 * (time.perf_counter() - started),
            cost=cost,
        )
        return Plan(decision, evidence)

    def _choose(
        self,
        evidence: Evidence,
        offers: Needs,
        rng: np.random.Generator | None,
        exploration: Exploration,
    ) -> _Choice:
        actions = self.checkpoint.actions
        raw = self.checkpoint.features.raw([evidence])
        states = self.checkpoint.features.standardised(raw)
        mask = actions.mask([evidence.query], offers)
        distribution = self.checkpoint.policy.distribution(states, mask)
        row = distribution.probabilities[0].tolist()
        if not math.isfinite(sum(row)):
            raise ArithmeticError("action probabilities are not finite")
        possible = mask[0].tolist()
        preferences = _of_possible(actions.names, row, possible)
        probabilities: Mapping[str, float]
        if rng is not None:
            drawn = Categorical(exploration.of(distribution.probabilities, actions.names))
            action = int(drawn.sample(rng)[0])
            probabilities = _of_possible(actions.names, drawn.probabilities[0].tolist(), possible)
        else:
            action = int(distribution.greedy()[0])
            chosen = actions.names[action]
            probabilities = {name: float(name == chosen) for name in preferences}
        return _Choice(action, probabilities, preferences, tuple(raw[0].tolist()))

    def _kept(self, query: Query, what: str, decision_id: str | None) -> RewriteDecision:
        return kept(query, f"fallback:{what}", decision_id=decision_id, version=self.version)


def _of_possible(
    names: Sequence[str], row: Sequence[float], possible: Sequence[bool]
) -> dict[str, float]:
    return {name: p for name, p, can in zip(names, row, possible, strict=True) if can}


@dataclass(frozen=True)
class _Choice:
    action: int
    probabilities: Mapping[str, float]
    preferences: Mapping[str, float]
    state: tuple[float, ...]


def _carry_out(
    action: Action,
    evidence: Evidence,
    retriever: Retriever,
    *,
    depth: int,
    with_documents: bool,
) -> Rewrite:
    needs = action.needs & ~Needs.HISTORY
    if needs:
        extend([evidence], retriever, needs, depth=depth, with_documents=with_documents)
    rewrite = action.rewrite(evidence)
    if rewrite is None:
        return Rewrite.keep(evidence.query)
    if rewrite.vector is not None and not np.isfinite(rewrite.vector).all():
        raise ArithmeticError("the rewritten vector is not finite")
    return rewrite


def kept(
    query: Query, reason: str, *, decision_id: str | None = None, version: str = "untrained"
) -> RewriteDecision:
    """The decision to send the query as it is, for a reason that isn't the policy's."""
    return RewriteDecision(
        id=decision_id or uuid.uuid4().hex,
        query=query,
        rewrite=Rewrite.keep(query),
        action=KEEP,
        strength=0.0,
        propensity=1.0,
        probabilities={KEEP: 1.0},
        preferences={KEEP: 1.0},
        policy_name=KEEP,
        policy_version=version,
        reason=reason,
        time=time.time(),
    )
