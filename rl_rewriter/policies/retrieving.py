"""Carries out a plan: searches what was decided, and the query itself where that fails."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rl_rewriter.policies.checks import check_ranking
from rl_rewriter.policies.decider import Plan, kept
from rl_rewriter.policies.spending import Meter, OverBudgetError
from rl_rewriter.retrieval.protocols import Retriever, VectorSource
from rl_rewriter.retrieval.resolving import resolve_vectors
from rl_rewriter.types import Matrix, Query, Ranking, Rewrite, RewriteDecision, Vector


@dataclass(frozen=True)
class Retrieved:
    """A decision and the documents that it led to.

    Attributes:
        decision: What was decided, and why.
        ranking: The documents, with texts and metadata.
    """

    decision: RewriteDecision
    ranking: Ranking


def searched(
    plan: Plan, retriever: Retriever, k: int, meter: Meter | None = None
) -> tuple[Plan, Ranking | None]:
    """Documents of a plan as far as they are ours to find; never raises.

    Args:
        plan: What was decided.
        retriever: Where a rewrite is searched.
        k: Documents wanted.
        meter: Counts what is spent.

    Returns:
        The plan, or one to keep the query where the rewrite's search failed; and the documents,
        None where the query itself is still to be searched.
    """
    meter = meter or Meter()
    decision = plan.decision
    if is_kept(decision):
        return plan, first_ranking(plan, k, meter)
    try:
        meter.search_rewrite(decision.rewrite)
        return plan, _search_rewrite(plan, retriever, k)
    except OverBudgetError as over:
        reason, error = over.reason, None
    except Exception as failed:
        reason, error = "search", failed
    fallback = kept(
        decision.query,
        f"fallback:{reason}",
        decision_id=decision.id,
        version=decision.policy_version,
    )
    meter.not_served()
    # Its tags stay: a rollout is judged by its fallbacks too.
    fallback = dataclasses.replace(fallback, tags=decision.tags)
    plan = Plan(fallback, plan.evidence, error)
    return plan, first_ranking(plan, k, meter)


def is_kept(decision: RewriteDecision) -> bool:
    """Whether what is searched is the query itself, whichever action led to it."""
    return decision.rewrite.is_the_query(decision.query)


def first_ranking(plan: Plan, k: int, meter: Meter) -> Ranking | None:
    """The query's own documents, where they were looked at with their texts."""
    evidence = plan.evidence
    if evidence is None or evidence.first is None or evidence.first.texts is None:
        return None
    meter.replaced = 1
    return evidence.first.top(k)


def search_query(plan: Plan, retriever: Retriever, k: int) -> Ranking:
    """The query's own search, whose errors are the retriever's and pass through."""
    query, evidence = plan.decision.query, plan.evidence
    rewrite = Rewrite.keep(query)
    if evidence is not None:
        rewrite = dataclasses.replace(rewrite, vector=evidence.vector)
    return _search(retriever, rewrite, k, query)


def _search_rewrite(plan: Plan, retriever: Retriever, k: int) -> Ranking:
    query, rewrite, evidence = plan.decision.query, plan.decision.rewrite, plan.evidence
    if len(rewrite.texts) > 1 and evidence is not None and evidence.vector is not None:
        rewrite = _mixed(rewrite, query, evidence.vector, retriever)
    ranking = _search(retriever, rewrite, k, query)
    check_ranking(ranking, "the ranking of the rewrite")
    return ranking


def _mixed(rewrite: Rewrite, query: Query, known: Vector, retriever: Retriever) -> Rewrite:
    """Resolve a mix of texts with the query's own embedding, which isn't asked for again."""
    if rewrite.vector is not None or not isinstance(retriever, VectorSource):
        return rewrite

    def embed(texts: Sequence[str]) -> Matrix:
        others = [text for text in texts if text != query.text]
        vectors = dict(zip(others, retriever.embed_queries(others), strict=True))
        return np.stack([vectors.get(text, known) for text in texts])

    [vector] = resolve_vectors([rewrite], embed)
    return dataclasses.replace(rewrite, vector=vector)


def _search(retriever: Retriever, rewrite: Rewrite, k: int, query: Query) -> Ranking:
    [ranking] = retriever.search([rewrite], k=k, filters=[query.filters], with_documents=True)
    return ranking
