"""From a query to a plan or to documents, in time, with everything that can go wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rl_rewriter.policies.decider import Plan
from rl_rewriter.policies.exploration import THE_POLICY, Exploration
from rl_rewriter.policies.retrieving import Retrieved, search_query, searched
from rl_rewriter.retrieval.evidence import EVIDENCE_DEPTH
from rl_rewriter.retrieval.protocols import Retriever
from rl_rewriter.serving.seeds import Seeds
from rl_rewriter.serving.ticket import Ticket
from rl_rewriter.types import Needs, Query, Ranking, RewriteDecision, ScoredDocument


@dataclass(frozen=True, kw_only=True)
class Ask:
    """One query, and how it is to be decided.

    Attributes:
        query: The query.
        retriever: Where to look; None where nobody said.
        seeds: Where draws come from.
        exploration: What the action is drawn from; None takes the most probable one.
        decision_id: Name of the decision; a random one by default.
        depth: Documents of the first ranking.
        with_documents: Whether it carries texts and metadata.
        allowed: What actions may need; what the retriever offers by default.
    """

    query: Query
    retriever: Retriever | None
    seeds: Seeds
    exploration: Exploration | None = None
    decision_id: str | None = None
    depth: int = EVIDENCE_DEPTH
    with_documents: bool = False
    allowed: Needs | None = None


def planned(ask: Ask, ticket: Ticket) -> Plan:
    """Decide within a request whose holder limits the time.

    Raises:
        ServingError: In strict mode, where something failed.
        Exception: Whatever a broken deployment raises; the ticket gives it a name.
    """
    query, name = ask.query, ask.decision_id
    if ticket.problem:
        return Plan(ticket.keep(query, ticket.problem, name))
    chosen = ticket.chosen
    if chosen.decider is None:
        return Plan(ticket.keep(query, chosen.reason, name))
    if ask.retriever is None:
        return Plan(ticket.keep(query, "no_retriever", name))
    plan = chosen.decider.plan(
        query,
        ask.retriever,
        rng=ask.seeds.rng(ticket.origin.seed) if ask.exploration is not None else None,
        exploration=ask.exploration or THE_POLICY,
        depth=ask.depth,
        with_documents=ask.with_documents,
        decision_id=name,
        allowed=ask.allowed,
        meter=ticket.meter,
    )
    return ticket.served(ticket.noted(plan))


def decided(ask: Ask, ticket: Ticket) -> Plan:
    """Decide in time: a whole request that ends with a decision."""
    with ticket:
        plan = ticket.within(
            lambda: planned(ask, ticket),
            lambda name: Plan(ticket.keep(ask.query, name, ask.decision_id)),
        )
        ticket.finish(plan.decision, None)
    decision = _told_by_the_log(plan.decision, ticket)
    return plan if decision is plan.decision else replace(plan, decision=decision)


def retrieved(ask: Ask, ticket: Ticket, retriever: Retriever, k: int) -> Retrieved:
    """Decide and search: a whole request that ends with documents.

    The query's own search, where it is still to be made, is the caller's: no limit of ours holds
    it, and its errors pass through.
    """

    def work() -> tuple[Plan, Ranking | None]:
        ticket.meter.serves_first = True
        plan = planned(ask, ticket)
        found, ranking = searched(plan, retriever, k, ticket.meter)
        return (plan if found is plan else ticket.noted(found)), ranking

    with ticket:
        plan, ranking = ticket.within(
            work, lambda name: (Plan(ticket.keep(ask.query, name, ask.decision_id)), None)
        )
        if ranking is None:
            ranking = search_query(plan, retriever, k)
        ticket.finish(plan.decision, _handed_over(ranking))
    return Retrieved(_told_by_the_log(plan.decision, ticket), ranking)


def _handed_over(ranking: Ranking) -> list[ScoredDocument]:
    """What listeners are told of a ranking, which may be the retriever's own rubbish."""
    try:
        return ranking.documents()
    except Exception:
        return [ScoredDocument(name, None) for name in ranking.ids]


def _told_by_the_log(decision: RewriteDecision, ticket: Ticket) -> RewriteDecision:
    """A decision that is recorded later, with what its request says of itself."""
    told = ticket.origin.tags
    return replace(decision, tags={**told, **decision.tags}) if told else decision
