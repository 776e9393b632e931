"""Decisions of a log on two sides, so that no query is on both."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rl_rewriter.logs.held_out import held_out
from rl_rewriter.training.blend.pools import Rows
from rl_rewriter.training.replay.searching import Searcher


def divided_by_query(
    searcher: Searcher, rows: tuple[Sequence[int], Sequence[int]]
) -> tuple[Rows, Rows]:
    """Rows whose words are known: to learn from, and to value by, about other queries.

    A query that both parts ask is left in one of them, by its words, so that about the share of all
    queries that is to be held out is.
    """
    asked, config = searcher.shown.rows, searcher.config
    learned_from, out = (np.asarray(part, dtype=np.intp) for part in rows)
    learned_from, out = learned_from[asked[learned_from] >= 0], out[asked[out] >= 0]
    learned, valued = np.unique(asked[learned_from]), np.unique(asked[out])
    both = np.intersect1d(learned, valued)
    wanted = config.validation_share * (len(learned) + len(valued) - len(both))
    share = (wanted - (len(valued) - len(both))) / max(1, len(both))
    words = [searcher.shown.queries[number].text for number in both]
    is_valued = held_out(words, share, seed=config.reinforce.seed)
    return (
        learned_from[~np.isin(asked[learned_from], both[is_valued])],
        out[~np.isin(asked[out], both[~is_valued])],
    )
