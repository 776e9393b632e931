"""No query is learned from and valued by, however often it comes back."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_rewriter.features.feature_set import default_features
from rl_rewriter.logs.held_out import held_out
from rl_rewriter.logs.shown import read_shown
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.training.config import FitConfig
from rl_rewriter.training.replay.divided import divided_by_query
from rl_rewriter.training.replay.searching import Searcher
from rl_rewriter.types import Query
from tests.bandits import bandit
from tests.unit.logs.test_shown import record

RETRIEVER = Bm25Retriever({"d": "a text"})


def searcher_of(asked: list[int], *, hidden: Collection[int] = ()) -> Searcher:
    """Decisions about queries by their numbers; those of ``hidden`` rows hold no words."""
    records = [
        record(str(row), Query(f"question {number}"), ["d"]) for row, number in enumerate(asked)
    ]
    for row in hidden:
        records[row]["query"] = None
    return Searcher(
        log=bandit(len(asked)),
        shown=read_shown(records, [str(row) for row in range(len(asked))]),
        retriever=RETRIEVER,
        statistics=RETRIEVER.statistics(),
        features=default_features(RETRIEVER.offers),
        config=FitConfig(),
        tell=lambda stage, done, total: None,
    )


@given(st.integers(1, 40), st.integers(1, 300), st.integers(0, 9))
@settings(max_examples=40)
def test_each_query_is_on_one_side(n_queries: int, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    hidden = set(np.flatnonzero(rng.random(n) < 0.1).tolist())
    one = searcher_of(rng.integers(n_queries, size=n).tolist(), hidden=hidden)
    out = rng.random(n) < 0.2
    learn, value = np.flatnonzero(~out).tolist(), np.flatnonzero(out).tolist()
    learned_from, valued = divided_by_query(one, (learn, value))
    assert set(learned_from.tolist()) <= set(learn) - hidden
    assert set(valued.tolist()) <= set(value) - hidden
    asked = one.shown.rows
    assert not set(asked[learned_from].tolist()) & set(asked[valued].tolist())
    assert {*asked[learned_from].tolist(), *asked[valued].tolist()} == set(asked[asked >= 0])


def test_queries_that_always_come_back_are_divided_by_the_share() -> None:
    one = searcher_of([number % 200 for number in range(2000)])
    names = [f"talk {row}" for row in range(2000)]
    out = held_out(names, 0.2)
    learned_from, valued = divided_by_query(
        one, (np.flatnonzero(~out).tolist(), np.flatnonzero(out).tolist())
    )
    n_learned, n_valued = (len(np.unique(one.shown.rows[rows])) for rows in (learned_from, valued))
    assert n_learned + n_valued == 200
    assert 25 <= n_valued <= 60
    other = replace(one, config=replace(one.config, validation_share=0.5))
    _, valued = divided_by_query(
        other, (np.flatnonzero(~out).tolist(), np.flatnonzero(out).tolist())
    )
    assert len(np.unique(one.shown.rows[valued])) > n_valued


def test_where_no_query_comes_back_all_rows_stay() -> None:
    one = searcher_of(list(range(50)))
    learned_from, valued = divided_by_query(one, (list(range(40)), list(range(40, 50))))
    assert (learned_from.tolist(), valued.tolist()) == (list(range(40)), list(range(40, 50)))
