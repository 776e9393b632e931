"""Logged ids become places among the candidates of their own query."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rl_rewriter.logs.shown import LISTED, ShownLists
from rl_rewriter.training.blend.pools import Pools
from rl_rewriter.training.credit.slates_of import slates_of
from rl_rewriter.types import Query
from tests.unit.training.blend.parts import world

IDS = [f"id{number}" for number in range(12)]


def pools_with(candidates: list[list[str]]) -> Pools:
    """Pools of these candidates; scores don't matter."""
    width = max(1, *(len(ids) for ids in candidates))
    base = world(len(candidates)).pools
    names = sorted({id_ for ids in candidates for id_ in ids})
    numbers = np.full((len(candidates), width), -1, dtype=np.int32)
    for row, ids in enumerate(candidates):
        numbers[row, : len(ids)] = [names.index(id_) for id_ in ids]
    return Pools(
        views=base.views,
        is_lexical=base.is_lexical,
        scores=base.scores[:, :width],
        mask=numbers >= 0,
        gains=base.gains[:, :width],
        ideal=base.ideal,
        n_relevant=base.n_relevant,
        present=base.present,
        floors=base.floors,
        documents=tuple(names),
        candidates=numbers,
    )


UNIQUE = st.lists(st.sampled_from(IDS), unique=True, max_size=LISTED)


@given(
    candidates=st.lists(UNIQUE, min_size=2, max_size=4),
    decisions=st.lists(st.tuples(st.integers(0, 3), UNIQUE), min_size=1, max_size=8),
)
def test_places_name_the_shown_documents(
    candidates: list[list[str]], decisions: list[tuple[int, list[str]]]
) -> None:
    """Documents that have been deleted since, and those of other queries, have no place."""
    pools = pools_with(candidates)
    decisions = [(query % len(candidates), listed) for query, listed in decisions]
    documents = sorted({id_ for _, listed in decisions for id_ in listed})
    lists = np.full((len(decisions), LISTED), -1, dtype=np.int32)
    for row, (_, listed) in enumerate(decisions):
        lists[row, : len(listed)] = [documents.index(id_) for id_ in listed]
    shown = ShownLists(
        queries=tuple(Query(f"q{number}") for number in range(len(candidates) + 5)),
        rows=np.asarray([query + 5 for query, _ in decisions], dtype=np.intp),
        documents=tuple(documents),
        lists=lists,
    )
    wanted = np.arange(len(decisions))[::2]
    numbers = [number + 5 for number in range(len(candidates))]
    rewards, weights = np.arange(len(decisions)) / 7, np.arange(1.0, 1.0 + len(decisions))
    found = slates_of(shown, wanted, numbers, pools, rewards, weights)
    assert found.rewards.tolist() == rewards[wanted].tolist()
    assert found.weights.tolist() == weights[wanted].tolist()
    for row, decision in enumerate(wanted):
        query, listed = decisions[decision]
        assert found.rows[row] == query
        for rank in range(LISTED):
            id_ = listed[rank] if rank < len(listed) else None
            place = found.places[row, rank]
            if id_ in candidates[query]:
                assert pools.documents[pools.candidates[query, place]] == id_
                assert pools.mask[query, place]
            else:
                assert place == -1
    alike = slates_of(shown, wanted, numbers, pools, rewards)
    assert (alike.weights == 1.0).all()
