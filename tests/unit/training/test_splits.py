"""Splits keep together what belongs together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rl_rewriter.errors import InputError
from rl_rewriter.training.splits import conversation_of, query_fingerprint, split_rows
from rl_rewriter.types import Query, Turn

GROUPS = st.lists(st.sampled_from("abcdefgh"), min_size=2).filter(lambda g: len(set(g)) > 1)
SHARES = st.floats(0.01, 0.99)


def sides(groups: list[str], share: float, seed: int) -> tuple[set[str], set[str]]:
    first, second = split_rows(groups, share, seed=seed)
    return {groups[row] for row in first}, {groups[row] for row in second}


@given(groups=GROUPS, share=SHARES, seed=st.integers(0, 99))
def test_every_row_is_on_one_side_and_no_group_on_both(
    groups: list[str], share: float, seed: int
) -> None:
    first, second = split_rows(groups, share, seed=seed)
    assert sorted([*first, *second]) == list(range(len(groups)))
    assert first == sorted(first)
    assert second == sorted(second)
    assert first
    assert second
    assert not {groups[row] for row in first} & {groups[row] for row in second}


@given(groups=GROUPS, share=SHARES, seed=st.integers(0, 99), data=st.data())
def test_the_side_of_a_group_does_not_depend_on_the_order_of_rows(
    groups: list[str], share: float, seed: int, data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(groups))
    assert sides(groups, share, seed) == sides(shuffled, share, seed)


@pytest.mark.parametrize(
    ("n_groups", "share", "n_second"),
    [(10, 0.2, 2), (10, 0.25, 2), (7, 0.3, 2), (100, 0.01, 1), (3, 0.001, 1), (3, 0.999, 2)],
)
def test_the_share_is_of_groups(n_groups: int, share: float, n_second: int) -> None:
    groups = [str(row % n_groups) for row in range(5 * n_groups)]
    first, second = split_rows(groups, share)
    assert len(second) == 5 * n_second
    assert len(first) == 5 * (n_groups - n_second)


def test_seeds_differ_and_equal_seeds_do_not() -> None:
    groups = [str(row) for row in range(50)]
    assert split_rows(groups, 0.3, seed=1) == split_rows(groups, 0.3, seed=1)
    assert split_rows(groups, 0.3, seed=1) != split_rows(groups, 0.3, seed=2)


def test_a_group_comes_to_either_side() -> None:
    groups = [str(row) for row in range(10)]
    held_out = np.zeros(10)
    for seed in range(200):
        held_out[split_rows(groups, 0.3, seed=seed)[1]] += 1
    assert held_out.min() > 30
    assert held_out.max() < 90


@pytest.mark.parametrize("groups", [[], ["a"], ["a", "a", "a"]])
def test_one_group_cannot_be_split(groups: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        split_rows(groups, 0.5)
    assert str(caught.value) == (
        f"at least two needs or conversations are needed to hold some queries out, got "
        f"{len(set(groups))} for {len(groups)} queries"
    )


def test_queries_of_one_conversation_share_its_first_turn() -> None:
    opening = Query("Where is my order?")
    later = Query("and the other?", history=(Turn("user", " where is my ORDER? "),))
    latest = Query("thanks", history=(*later.history, Turn("assistant", "here")))
    assert conversation_of(opening) == conversation_of(later) == conversation_of(latest)
    assert conversation_of(opening) != conversation_of(Query("Where is my money?"))


def test_a_fingerprint_knows_the_query_by_its_words_and_history() -> None:
    query = Query("and the other?", history=(Turn("user", "where is it?"),), id="1")
    same = Query("And the other? ", history=(Turn("user", "Where is it?"),), id="2")
    assert query_fingerprint(query) == query_fingerprint(same)
    assert query_fingerprint(query) != query_fingerprint(Query("and the other?"))
    assert query_fingerprint(query) != query_fingerprint(Query("where is it?\0and the others?"))


def test_lone_surrogates_have_a_name_too() -> None:
    assert conversation_of(Query("\ud800")) != conversation_of(Query("\udfff"))
