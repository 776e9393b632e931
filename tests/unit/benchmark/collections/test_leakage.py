"""Which groups are joined since they share a query."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rl_rewriter.benchmark.collections.leakage import joined_groups, leaked
from rl_rewriter.types import Query


def queries(*texts: str) -> list[Query]:
    return [Query(text, id=f"{number}") for number, text in enumerate(texts)]


def test_a_twin_is_the_first_held_out_query_with_the_same_words() -> None:
    assert leaked(queries("a", "A", "a ", "b"), {"1", "2"}) == {"0": "1"}


def test_groups_are_joined_along_chains() -> None:
    asked = queries("a", "x", "x", "y", "y", "b")
    groups = dict(zip("012345", ["1", "1", "2", "2", "3", "4"], strict=True))
    joined = joined_groups(asked, lambda query: groups[query.id])
    assert len({joined[id_] for id_ in "01234"}) == 1
    assert joined["5"] == "4"


def test_nothing_is_joined_for_nothing() -> None:
    assert joined_groups(queries("a", "b"), lambda query: query.id) == {}
    assert joined_groups(queries("a", "a"), lambda query: "one") == {}


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("12345678"))))
def test_joined_groups_are_the_connected_components(asked: list[tuple[str, str]]) -> None:
    made = queries(*(text for text, _ in asked))
    groups = {query.id: group for query, (_, group) in zip(made, asked, strict=True)}
    joined = joined_groups(made, lambda query: groups[query.id]) or groups
    component = list(range(len(asked)))  # by relabelling until nothing changes
    changed = True
    while changed:
        changed = False
        for i, (text, group) in enumerate(asked):
            for j, (other_text, other_group) in enumerate(asked):
                linked = text == other_text or group == other_group
                if linked and component[j] > component[i]:
                    component[j], changed = component[i], True
    for i in range(len(asked)):
        for j in range(i):
            assert (joined[f"{i}"] == joined[f"{j}"]) == (component[i] == component[j])
