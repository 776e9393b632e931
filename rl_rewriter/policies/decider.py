"""From a query to a decision: evidence, state, probabilities, action, rewrite."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_

import numpy as np

from rl_rewriter.actions.base import KEEP, Action
from rl_rewriter.actions.blend import LearnedBlend
from rl_rewriter.policies.categorical import Categorical
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.policies.checks import (
    check_choice,
    check_evidence,
    check_probabilities,
    check_rewrite,
    check_state,
    usable,
)
from rl_rewriter.policies.drawing import CarriedOut, Drawing, carried_out
from rl_rewriter.policies.exploration import THE_POLICY, Exploration
from rl_rewriter.policies.protocols import Mask
from rl_rewriter.policies.spending import (
    Caps,
    Meter,
    MeteredRetriever,
    OverBudgetError,
    llm_calls_of,
    searches_of,
    searches_of_keep,
)
from rl_rewriter.retrieval.evidence import EVIDENCE_DEPTH, extend, gather
from rl_rewriter.retrieval.protocols import Retriever
from rl_rewriter.rewards.reward import RewardConfig
from rl_rewriter.text.small_talk import is_small_talk
from rl_rewriter.types import Evidence, Needs, Query, Rewrite, RewriteDecision

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Plan:
    """A decision and what was looked at for it, so that nothing is searched twice.

    Attributes:
        decision: What to do.
        evidence: What was gathered; None where the query was kept without a look.
        error: What failed, where the query is kept for that.
    """

    decision: RewriteDecision
    evidence: Evidence | None = None
    error: Exception | None = None


@dataclass(frozen=True, eq=False)
class Decider:
    """Decides by one checkpoint; immutable, so that a running one can be swapped for another.

    Attributes:
        checkpoint: The trained policy with all that belongs to it.
        warns: Whether failures are told here; else by whoever asks.
    """

    checkpoint: Checkpoint
    warns: bool = True

    @cached_property
    def version(self) -> str:
        """Version of the policy."""
        return self.checkpoint.version

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
        meter: Meter | None = None,
    ) -> Plan:
        """Decide for one query; never raises: what fails leads to keep, with a named reason.

        Args:
            query: The query.
            retriever: Where evidence is searched, and what decides which actions are possible.
            rng: Draw the action, and the weights of a learned blend where ``exploration`` says so;
                None takes the policy's most probable action.
            exploration: What it is drawn from.
            depth: Documents of the first ranking, so that it can be served where the query is kept.
            with_documents: Whether the first ranking carries texts and metadata.
            decision_id: Name of the decision; a random one where none is given.
            allowed: What actions may need, where the search that follows isn't ``retriever``'s: a
                text-only retriever can follow a decision for which another one gave evidence.
            meter: Counts what is spent. Actions that would need more than its caps are masked.
        """
        started = time.perf_counter()
        left_alone = _left_alone(query)
        if left_alone:
            return Plan(self._kept(query, left_alone, decision_id))
        meter = meter or Meter()
        stage, evidence = "evidence", None
        try:
            features = self.checkpoint.features
            if features.needs & ~retriever.offers:
                return Plan(self._kept(query, "missing_evidence", decision_id))
            affordable = self._affordable(meter)
            if affordable is not None and not affordable[0]:
                return Plan(self._kept(query, "search_budget", decision_id))
            look = _Look(MeteredRetriever(retriever, meter), depth, with_documents)
            offers = retriever.offers if allowed is None else allowed
            evidence = look.at(query, self.checkpoint, self._early & offers)
            stage = "policy_error"
            mask = self.checkpoint.actions.mask([query], offers)
            if affordable is not None:
                mask = mask & affordable
            choice = self._choose(evidence, mask, rng, exploration)
            stage = "action_error"
            action = self.checkpoint.actions[choice.action]
            drawing = self._drawing(rng, exploration)
            done = _carry_out(action, evidence, look, meter, drawing)
            rewrite = done.rewrite or Rewrite.keep(query)
            cost = self._prices.price(rewrite, query)
        except OverBudgetError as error:
            return Plan(self._kept(query, error.reason, decision_id), evidence)
        except Exception as error:
            if self.warns:
                _logger.warning("query kept (fallback:%s): %s", stage, type(error).__name__)
                _logger.debug("query kept", exc_info=True)
            return Plan(self._kept(query, stage, decision_id), usable(evidence), error)
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
            blends=self.checkpoint.blend_versions,
            sigma=drawing.sigma if drawing is not None else 0.0,
            weights=done.weights,
            log_density=done.log_density,
        )
        return Plan(decision, evidence)

    def _drawing(self, rng: np.random.Generator | None, exploration: Exploration) -> Drawing | None:
        """How a learned blend's weights are drawn; None where they are served as they are."""
        if rng is None or not exploration.sigma or not self.checkpoint.blend_versions:
            return None
        return Drawing(exploration.sigma, rng)

    def _affordable(self, meter: Meter) -> Mask | None:
        """Which actions, ``(m,)``, the caps leave possible; None for all of them."""
        caps, serves_first = meter.caps, meter.serves_first
        if caps.are_none:
            return None
        key = (caps, serves_first)
        found = self._affordable_by_caps.get(key)
        if found is None:
            features = self.checkpoint.features.needs
            searches = [searches_of(features, action) for action in self.checkpoint.actions]
            searches[0] = searches_of_keep(features, serves_first=serves_first)
            calls = [llm_calls_of(action) for action in self.checkpoint.actions]
            found = np.ones(len(searches), dtype=np.bool_)
            if caps.searches is not None:
                found &= np.asarray(searches) <= caps.searches
            if caps.llm_calls is not None:
                found &= np.asarray(calls) <= caps.llm_calls
            self._affordable_by_caps[key] = found
        return found

    @cached_property
    def _early(self) -> Needs:
        """What a learned blend is likely to ask for in a moment, when it would cost twice.

        Parts of the conversation are embedded with the query in one call of the model, and the
        first documents come with their texts from one search.
        """
        needs = reduce(or_, (blend.needs for blend in self.checkpoint.blends), Needs.NOTHING)
        return needs & (Needs.HISTORY_VECTORS | Needs.FIRST_TEXTS)

    @cached_property
    def _affordable_by_caps(self) -> dict[tuple[Caps, bool], Mask]:
        """Remembered, since flag arithmetic is slow and every decision asks for the same."""
        return {}

    def _choose(
        self,
        evidence: Evidence,
        mask: Mask,
        rng: np.random.Generator | None,
        exploration: Exploration,
    ) -> _Choice:
        checkpoint = self.checkpoint
        names = checkpoint.actions.names
        raw = checkpoint.features.raw([evidence])
        check_state(raw, len(checkpoint.features.columns))
        evidence.features = raw[0]
        states = checkpoint.features.standardised(raw)
        distribution = checkpoint.policy.distribution(states, mask)
        check_probabilities(distribution.probabilities, mask)
        possible = mask[0].tolist()
        preferences = _of_possible(names, distribution.probabilities[0].tolist(), possible)
        probabilities: Mapping[str, float]
        if rng is not None:
            drawn = Categorical(exploration.of(distribution.probabilities, names))
            check_probabilities(drawn.probabilities, mask)
            action = int(drawn.sample(rng)[0])
            probabilities = _of_possible(names, drawn.probabilities[0].tolist(), possible)
        else:
            action = int(distribution.greedy()[0])
            probabilities = {}
        check_choice(action, mask)
        if rng is None:
            probabilities = {name: float(name == names[action]) for name in preferences}
        return _Choice(action, probabilities, preferences, tuple(raw[0].tolist()))

    def _kept(self, query: Query, what: str, decision_id: str | None) -> RewriteDecision:
        return kept(query, f"fallback:{what}", decision_id=decision_id, version=self.version)


def _left_alone(query: Query) -> str:
    """Why a query is kept without a look at anything; "" where it is looked at."""
    if not query.is_searchable:
        return "long_query" if query.text.strip() else "blank_query"
    return "small_talk" if is_small_talk(query.text) else ""


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


@dataclass(frozen=True)
class _Look:
    """How evidence is gathered for one query."""

    retriever: MeteredRetriever
    depth: int
    with_documents: bool

    def at(self, query: Query, checkpoint: Checkpoint, early: Needs) -> Evidence:
        [evidence] = gather(
            [query],
            self.retriever,
            checkpoint.statistics,
            checkpoint.features.needs | early,
            depth=self.depth,
            with_documents=self.with_documents,
        )
        check_evidence(evidence)
        return evidence

    def further(self, evidence: Evidence, needs: Needs) -> None:
        if needs:
            extend(
                [evidence],
                self.retriever,
                needs,
                depth=self.depth,
                with_documents=self.with_documents,
            )
            check_evidence(evidence)


def _carry_out(
    action: Action, evidence: Evidence, look: _Look, meter: Meter, drawing: Drawing | None
) -> CarriedOut:
    if drawing is None and isinstance(action, LearnedBlend) and action.keeps(evidence):
        return CarriedOut(None)
    look.further(evidence, action.needs & ~Needs.HISTORY)
    done = carried_out(action, evidence, drawing)
    rewrite = done.rewrite
    if rewrite is not None:
        check_rewrite(rewrite)
        if rewrite.llm_calls and getattr(action, "llm_calls", 1) != 0:
            meter.ask(rewrite.llm_calls)
    return done


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
