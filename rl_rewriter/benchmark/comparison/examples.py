"""The queries that a policy helped and hurt most, with what was sent and what came back."""

from __future__ import annotations

from typing import Any

import numpy as np

from rl_rewriter.actions.words import counts_alike
from rl_rewriter.benchmark.comparison.compared import Compared
from rl_rewriter.evaluation.folds import Rows
from rl_rewriter.types import Query, Ranking, Rewrite

EXAMPLES = 8
DOCUMENTS = 3
MAX_TEXT = 300
_SAME = 1e-9


def examples_of(compared: Compared) -> dict[str, Any]:
    """Eight queries at most under each of "helped" and "hurt", the extreme ones first.

    They are those of the first policy, as it was trained without the query.
    """
    values = compared.held_out.values[compared.held_out.metric]
    gains = values[np.arange(len(values)), compared.chosen] - values[:, 0]
    order = np.argsort(-gains, kind="stable")
    helped = [row for row in order[:EXAMPLES] if gains[row] > _SAME]
    hurt = [row for row in order[::-1][:EXAMPLES] if gains[row] < -_SAME]
    rows = np.asarray([*helped, *hurt], dtype=np.intp)
    found = [
        _example(compared, *each) for each in zip(rows, *_searched(compared, rows), strict=True)
    ]
    return {"helped": found[: len(helped)], "hurt": found[len(helped) :]}


def _searched(compared: Compared, rows: Rows) -> tuple[list[Ranking], list[Ranking]]:
    """First documents of the queries as they are, and of what the policy sends."""
    queries = [compared.queries[row] for row in rows]
    if not queries:
        return [], []
    kept = [Rewrite.keep(query) for query in queries]
    sent = [compared.rewrites[row] for row in rows]
    rankings = compared.bench.retriever.search(
        [*kept, *sent],
        k=DOCUMENTS,
        filters=[query.filters for query in queries] * 2,
        with_documents=True,
    )
    return rankings[: len(queries)], rankings[len(queries) :]


def _example(compared: Compared, row: int, kept: Ranking, sent: Ranking) -> dict[str, Any]:
    query, rewrite = compared.queries[row], compared.rewrites[row]
    values = compared.held_out.values[compared.held_out.metric][row]
    action = int(compared.chosen[row])
    return {
        "query_id": query.id,
        "query": query.text,
        "history": [{"role": turn.role, "text": turn.text} for turn in query.history],
        "kind": compared.kinds[row],
        "action": compared.actions.names[action],
        "texts": list(rewrite.texts),
        "weights": list(rewrite.weights),
        "moved": rewrite.vector is not None,
        "lexical_weight": rewrite.lexical_weight,
        "counts_alike": counts_alike(compared.actions[action], rewrite),
        "keep": float(values[0]),
        "policy": float(values[action]),
        "keep_documents": _documents(compared, query, kept),
        "policy_documents": _documents(compared, query, sent),
    }


def _documents(compared: Compared, query: Query, ranking: Ranking) -> list[dict[str, Any]]:
    grades = compared.bench.qrels.get(query.id, {})
    return [
        {
            "id": document.id,
            "score": document.score,
            "grade": grades.get(document.id),
            "text": (document.text or "")[:MAX_TEXT],
        }
        for document in ranking.documents()
    ]
