"""Run files that trec_eval, ir-measures and their like read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote

from rl_rewriter.envs.outcomes import Outcomes
from rl_rewriter.evaluation.folds import Rows

_SPACE = re.compile(r"\s")


def run_lines(outcomes: Outcomes, chosen: Rows, tag: str) -> Iterator[str]:
    """Lines ``query Q0 document rank score tag`` of the rankings of chosen actions.

    The score is the depth of the rankings less the rank: outcomes keep ranks, and tools that order
    by score then find the ranks again, without ties. White space in ids is percent-encoded, since
    columns are told apart by it.

    Args:
        outcomes: Rankings of every action on ``n`` queries.
        chosen: Index of the action for each of them, ``(n,)``.
        tag: Name of the run.
    """
    tag = _without_space(tag)
    documents = [_without_space(id_) for id_ in outcomes.documents]
    for query, ranked, action in zip(outcomes.query_ids, outcomes.ranked, chosen, strict=True):
        name = _without_space(query)
        found = dict.fromkeys(position for position in ranked[action].tolist() if position >= 0)
        for rank, position in enumerate(found, start=1):
            yield f"{name} Q0 {documents[position]} {rank} {outcomes.depth - rank} {tag}\n"


def _without_space(name: str) -> str:
    return _SPACE.sub(lambda found: quote(found.group()), name)
