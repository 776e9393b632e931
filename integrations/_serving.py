"""What adapters do around a search: open a request, decide in time, record the outcome."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from rl_rewriter.conversation import as_history
from rl_rewriter.policies.decider import Plan
from rl_rewriter.policies.retrieving import is_kept
from rl_rewriter.retrieval.evidence import EVIDENCE_DEPTH
from rl_rewriter.retrieval.protocols import Retriever
from rl_rewriter.retrieval.text_only import TextOnly
from rl_rewriter.rewriter import RLQueryRewriter
from rl_rewriter.serving.origin import Origin
from rl_rewriter.serving.seeds import checked_seed
from rl_rewriter.serving.ticket import Ticket
from rl_rewriter.types import Filters, Needs, Query, RewriteDecision, ScoredDocument, Turn

T = TypeVar("T")
Turns = Callable[[str], tuple[Turn, ...]]
"""Reads the turns before a question."""

CONVERSATION = ("session_id", "thread_id", "conversation_id")
"""Names under which a conversation is known: what joins its records, and its rollout."""
SEED = "rl_rewriter_seed"
"""Name under which a caller may give the seed of one request's exploration."""


@dataclass(frozen=True)
class Request:
    """One question on its way through an adapter.

    Attributes:
        rewriter: Who decides.
        query: The question with its history, where that was read already.
        ticket: What the request may take, and whose policy decides.
        decision_id: Name of the decision; a random one where None.
        explore: Whether the action is drawn.
        history: Earlier turns that are yet to be read, which may take its time; or a function that
            reads them, given the question.
    """

    rewriter: RLQueryRewriter
    query: Query
    ticket: Ticket
    decision_id: str | None = None
    explore: bool = False
    history: Any = None

    @classmethod
    def opened(
        cls,
        rewriter: RLQueryRewriter,
        query: Query,
        history: Any = None,
        *,
        adapter: str,
        decision_id: str,
        explore: bool = False,
        told: Mapping[str, Any] | None = None,
        tags: Mapping[str, Any] | None = None,
    ) -> Request:
        """Begin a request.

        Args:
            rewriter: Who decides.
            query: The question.
            history: Earlier turns, of any kind.
            adapter: Who opens it.
            decision_id: Name of the decision.
            explore: Whether the action is drawn.
            told: What the caller's run says of itself: its conversation, a seed.
            tags: What the decision log is to say beside that.
        """
        told = told or {}
        given = {name: _name(told.get(name)) for name in CONVERSATION}
        names = {name: text for name, text in given.items() if text}
        origin = Origin(
            adapter=adapter,
            session=next(iter(names.values()), decision_id),
            seed=_seed(told.get(SEED)),
            tags={**(tags or {}), **names},
        )
        request = cls(rewriter, query, rewriter.opened(origin), decision_id, explore, history)
        is_at_hand = history is None or type(history) in (list, tuple)  # others may fetch turns
        return request.read() if is_at_hand else request

    def read(self) -> Request:
        """With its history; where that can't be read, the question is kept and the chain goes on.

        Raises:
            ServingError: In strict mode, where it can't be read.
        """
        if self.history is None:
            return self
        try:
            given = self.history
            turns = given(self.query.text) if callable(given) else as_history(given)
        except Exception as error:
            self.ticket.refuse("history", error)
            return self
        return dataclasses.replace(
            self, query=dataclasses.replace(self.query, history=turns), history=None
        )

    def with_history(self, history: Any) -> Request:
        """The same request, with turns that are yet to be read."""
        return self if history is None else dataclasses.replace(self, history=history)

    def keep(self, name: str) -> RewriteDecision:
        """The decision to leave the question alone."""
        return self.ticket.keep(self.query, name, self.decision_id)

    def within(self, work: Callable[[Request], T], otherwise: Callable[[RewriteDecision], T]) -> T:
        """Our own work in time, else what comes of keeping the question."""
        return self.ticket.within(
            lambda: work(self.read()), lambda name: otherwise(self.keep(name))
        )

    async def awaited(
        self, work: Callable[[Request], T], otherwise: Callable[[RewriteDecision], T]
    ) -> T:
        """As :meth:`within`; the event loop is free meanwhile."""
        return await self.ticket.awaited(
            lambda: work(self.read()), lambda name: otherwise(self.keep(name))
        )

    def plan_text(self, *, allowed: Needs = Needs.NOTHING, filtered: bool = False) -> Plan:
        """Decide for a retriever that is handed texts.

        Args:
            allowed: What it can do beyond searching one text.
            filtered: Whether its search is restricted: the rewriter's own retriever isn't, so it
                can't give the evidence then.
        """
        decider, own = self.ticket.chosen.decider, self.rewriter.retriever
        evidence: Retriever = TextOnly()
        if decider is not None and decider.checkpoint.features.needs and not filtered:
            evidence = own or evidence
        return self._plan(self.query, evidence, allowed=allowed)

    def plan_vector(self, retriever: Retriever, k: int, filters: Filters | None) -> Plan:
        """Decide for a retriever that we search ourselves, and look deep enough to serve k."""
        query = dataclasses.replace(self.query, filters=filters)
        return self._plan(query, retriever, depth=max(k, EVIDENCE_DEPTH), with_documents=True)

    def _plan(self, query: Query, retriever: Retriever, **settings: Any) -> Plan:
        plan: Plan = self.rewriter.plan(
            query,
            retriever=retriever,
            explore=self.explore,
            decision_id=self.decision_id,
            ticket=self.ticket,
            **settings,
        )
        return plan

    def record(self, decision: RewriteDecision, documents: Sequence[ScoredDocument]) -> Recorded:
        """Write the outcome to the decision log."""
        return self._recorded(decision, self.ticket.record(decision, documents))

    async def arecord(
        self, decision: RewriteDecision, documents: Sequence[ScoredDocument]
    ) -> Recorded:
        """As :meth:`record`; the event loop is free meanwhile."""
        return self._recorded(decision, await self.ticket.arecord(decision, documents))

    def _recorded(self, decision: RewriteDecision, is_logged: bool) -> Recorded:
        if is_logged:
            return Recorded(decision)
        is_void = not is_kept(decision)
        if is_void:
            self.ticket.meter.not_served()
        return Recorded(self.ticket.unlogged(decision), is_void)


@dataclass(frozen=True)
class Recorded:
    """What stands after a decision was to be logged.

    Attributes:
        decision: The decision, or keep where it isn't on file.
        is_void: Whether documents of the question itself are to be served instead: no unlogged
            rewrite is.
    """

    decision: RewriteDecision
    is_void: bool = False


def number_of(documents: Any) -> int | None:
    """How many documents were found; None where a retriever gave something else than a list."""
    return len(documents) if isinstance(documents, list) else None


def _name(told: Any) -> str:
    """A conversation's name; "" where there is none, or none that can be told."""
    try:
        return "" if told is None else str(told)
    except Exception:
        return ""


def _seed(told: Any) -> int | None:
    """A seed from a run's settings; None for anything that is none."""
    try:
        return checked_seed(told)
    except ValueError:
        return None
