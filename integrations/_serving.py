"""What adapters do around a search: open a request, decide, record the outcome."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rl_rewriter.conversation import as_history
from rl_rewriter.policies.decider import Plan, kept
from rl_rewriter.retrieval.evidence import EVIDENCE_DEPTH
from rl_rewriter.retrieval.protocols import Retriever
from rl_rewriter.retrieval.text_only import TextOnly
from rl_rewriter.rewriter import RLQueryRewriter
from rl_rewriter.types import Filters, Needs, Query, RewriteDecision, ScoredDocument

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Request:
    """One question on its way through an adapter.

    Attributes:
        rewriter: Who decides.
        query: The question with its history.
        decision_id: Name of the decision; a random one where None.
        explore: Whether the action is drawn.
        problem: Why the question is kept whatever the policy says; "" where nothing is wrong.
        tags: What the decision log says beside it: the run, the conversation.
    """

    rewriter: RLQueryRewriter
    query: Query
    decision_id: str | None = None
    explore: bool = False
    problem: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def opened(
        cls,
        rewriter: RLQueryRewriter,
        text: str,
        history: Sequence[Any] | None,
        *,
        decision_id: str | None = None,
        explore: bool = False,
        tags: Mapping[str, str] | None = None,
    ) -> Request:
        """Read the history; where it can't be read, the question is kept and the chain goes on."""
        try:
            turns, problem = as_history(history or ()), ""
        except Exception as error:
            _logger.warning("query kept (fallback:history): %s", error)
            turns, problem = (), "history"
        query = Query(text, turns)
        return cls(rewriter, query, decision_id, explore, problem, tags or {})

    def keep(self, problem: str) -> RewriteDecision:
        """The decision to leave the question alone: "untrained", or "fallback:<problem>"."""
        version = self.rewriter.policy_version
        reason = "untrained" if version == "untrained" else f"fallback:{problem}"
        return kept(self.query, reason, decision_id=self.decision_id, version=version)

    def plan_text(self, *, allowed: Needs = Needs.NOTHING, filtered: bool = False) -> Plan:
        """Decide for a retriever that is handed texts.

        Args:
            allowed: What it can do beyond searching one text.
            filtered: Whether its search is restricted: the rewriter's own retriever isn't, so it
                can't give the evidence then.
        """
        checkpoint, own = self.rewriter.checkpoint, self.rewriter.retriever
        evidence: Retriever = TextOnly()
        if checkpoint is not None and checkpoint.features.needs and not filtered:
            evidence = own or evidence
        return self._plan(self.query, evidence, allowed=allowed)

    def plan_vector(self, retriever: Retriever, k: int, filters: Filters | None) -> Plan:
        """Decide for a retriever that we search ourselves, and look deep enough to serve k."""
        query = dataclasses.replace(self.query, filters=filters)
        return self._plan(query, retriever, depth=max(k, EVIDENCE_DEPTH), with_documents=True)

    def _plan(self, query: Query, retriever: Retriever, **settings: Any) -> Plan:
        if self.problem:
            return Plan(self.keep(self.problem))
        return self.rewriter.plan(
            query,
            retriever=retriever,
            explore=self.explore,
            decision_id=self.decision_id,
            **settings,
        )

    def record(self, decision: RewriteDecision, documents: Sequence[ScoredDocument]) -> None:
        """Write the outcome to the decision log; a log that can't be written stops no chain."""
        try:
            self.rewriter.record(decision, documents, tags=self.tags)
        except Exception as error:
            _logger.warning("decision %s was not logged: %s", decision.id, error)
