"""How a collection's queries are divided, with and without a split of its own."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rl_rewriter.benchmark.collections.judged import HELD_OUT_SHARE, JudgedCollection, evenly
from rl_rewriter.errors import InputError
from rl_rewriter.types import Query, Turn


def collection(
    n_needs: int = 20, forms: int = 3, *, test_needs: int | None = None
) -> JudgedCollection:
    """Each need is asked in several forms; the last ``test_needs`` are held out."""
    ids = [(f"n{need}", f"n{need}.{form}") for need in range(n_needs) for form in range(forms)]
    held_out = {f"n{need}" for need in range(n_needs - (test_needs or 0), n_needs)}
    return JudgedCollection(
        name="made",
        documents={"d": "text"},
        queries=tuple(Query(f"query {id_}", id=id_) for _, id_ in ids),
        qrels={id_: {"d": 1.0} for _, id_ in ids},
        test_ids=None
        if test_needs is None
        else frozenset(id_ for need, id_ in ids if need in held_out),
        groups={id_: need for need, id_ in ids},
        kinds={id_: "plain" for _, id_ in ids},
    )


def needs(queries: tuple[Query, ...]) -> set[str]:
    return {query.id.partition(".")[0] for query in queries}


def test_its_own_split_is_kept() -> None:
    found = collection(test_needs=4)
    assert found.protocol == "split"
    assert needs(found.test) == {"n16", "n17", "n18", "n19"}
    assert len(found.train) == 48


def test_without_one_whole_groups_are_held_out() -> None:
    found = collection()
    assert found.protocol == "cv5"
    assert not needs(found.train) & needs(found.test)
    assert len(needs(found.test)) == round(HELD_OUT_SHARE * 20)
    assert {*found.train, *found.test} == set(found.queries)


def test_without_groups_conversations_stay_together() -> None:
    opening = [Query(f"opening {n}", id=f"{n}") for n in range(10)]
    later = [
        Query("and then?", history=(Turn("user", f"opening {n}"),), id=f"{n}.later")
        for n in range(10)
    ]
    queries = (*opening, *later)
    found = JudgedCollection("made", {"d": "t"}, queries, {q.id: {"d": 1.0} for q in queries})
    held_out = {query.id.partition(".")[0] for query in found.test}
    assert len(found.test) == 6
    assert len(held_out) == 3
    assert found.group_of(queries[0]) == found.group_of(queries[10])


def test_the_split_is_the_same_whenever_and_in_whatever_order_it_is_read() -> None:
    found = collection()
    turned = JudgedCollection(
        found.name, found.documents, found.queries[::-1], found.qrels, groups=found.groups
    )
    assert set(turned.test) == set(found.test) == set(collection().test)


@pytest.mark.parametrize("test_needs", [None, 5])
@given(limit=st.integers(1, 70))
def test_a_limit_holds_for_either_side_and_moves_nothing_across(
    test_needs: int | None, limit: int
) -> None:
    whole = collection(test_needs=test_needs)
    part = whole.limited(limit)
    assert len(part.train) == min(limit, len(whole.train))
    assert len(part.test) == min(limit, len(whole.test))
    assert set(part.train) <= set(whole.train)
    assert set(part.test) <= set(whole.test)
    assert part.protocol == whole.protocol
    assert (part.groups, part.kinds, part.name) == (whole.groups, whole.kinds, whole.name)
    assert part.limited(limit).queries == part.queries


@given(st.integers(0, 50), st.integers(1, 60))
def test_a_part_is_spread_over_the_whole(size: int, limit: int) -> None:
    queries = [Query(str(n)) for n in range(size)]
    rows = [int(query.text) for query in evenly(queries, limit)]
    assert len(rows) == min(size, limit)
    assert rows == sorted(set(rows))
    if rows:
        assert rows[0] == 0
        assert size - rows[-1] <= -(-size // len(rows))


def test_nothing_can_be_measured_on_nothing() -> None:
    with pytest.raises(InputError, match="collection 'made' has no query with a relevant document"):
        JudgedCollection("made", {"d": "t"}, (), {"a": {"d": 1.0}})


def test_documents_may_be_elsewhere() -> None:
    assert not JudgedCollection("made", {}, (Query("a", id="a"),), {"a": {"d": 1.0}}).documents


def test_a_part_keeps_the_notes() -> None:
    noted = replace(collection(), notes=("odd",))
    assert noted.limited(3).notes == ("odd",)


@pytest.mark.parametrize(("held_out", "side"), [({"a"}, "training"), ({"else"}, "held-out")])
def test_a_side_without_queries_is_refused(held_out: set[str], side: str) -> None:
    with pytest.raises(InputError, match=f"none of the {side} queries of 'made'"):
        JudgedCollection(
            "made", {"d": "t"}, (Query("a", id="a"),), {"a": {"d": 1.0}}, frozenset(held_out)
        )
