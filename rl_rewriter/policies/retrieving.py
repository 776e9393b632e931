"""Carries out a plan: searches what was decided, and the query itself where that fails."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rl_rewriter.policies.decider import Plan, kept
from rl_rewriter.retrieval.protocols import Retriever, VectorSource
from rl_rewriter.retrieval.resolving import resolve_vectors
from rl_rewriter.types import Matrix, Query, Ranking, Rewrite, RewriteDecision, Vector

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Retrieved:
    """A decision and the documents that it led to.

    Attributes:
        decision: What was decided, and why.
        ranking: The documents, with texts and metadata.
    """

    decision: RewriteDecision
    ranking: Ranking


def search_plan(plan: Plan, retriever: Retriever, k: int) -> Retrieved:
    """Carry out a plan: serve the first ranking where the query is kept, else search."""
    decision, evidence = plan.decision, plan.evidence
    query, rewrite = decision.query, decision.rewrite
    if is_kept(decision):
        return Retrieved(decision, _search_kept(plan, retriever, k))
    try:
        if len(rewrite.texts) > 1 and evidence is not None and evidence.vector is not None:
            rewrite = _mixed(rewrite, query, evidence.vector, retriever)
        return Retrieved(decision, _search(retriever, rewrite, k, query))
    except Exception as error:
        _logger.warning("query kept (fallback:search): %s", type(error).__name__)
        _logger.debug("query kept", exc_info=True)
    fallback = kept(
        query, "fallback:search", decision_id=decision.id, version=decision.policy_version
    )
    return Retrieved(fallback, _search_kept(plan, retriever, k))


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


def is_kept(decision: RewriteDecision) -> bool:
    """Whether what is searched is the query itself, whichever action led to it."""
    return decision.rewrite.is_the_query(decision.query)


def _search_kept(plan: Plan, retriever: Retriever, k: int) -> Ranking:
    """The first ranking where it was looked at with its documents, else a search."""
    query, evidence = plan.decision.query, plan.evidence
    rewrite = Rewrite.keep(query)
    if evidence is not None:
        if evidence.first is not None and evidence.first.texts is not None:
            return evidence.first.top(k)
        rewrite = dataclasses.replace(rewrite, vector=evidence.vector)
    return _search(retriever, rewrite, k, query)


def _search(retriever: Retriever, rewrite: Rewrite, k: int, query: Query) -> Ranking:
    [ranking] = retriever.search([rewrite], k=k, filters=[query.filters], with_documents=True)
    return ranking
