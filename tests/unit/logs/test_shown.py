"""Words and lists of decisions, read back from logs in all their forms."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rl_rewriter.errors import InputError
from rl_rewriter.logs.asked import asked
from rl_rewriter.logs.convert import write_records
from rl_rewriter.logs.dataset import dataset
from rl_rewriter.logs.shown import LISTED, ShownLists, read_shown
from rl_rewriter.types import Filters, Query, Turn
from tests.logged import decision, feedback, write_lines

TALK = (Turn("user", "hello"), Turn("assistant", "hi"))


def record(name: str, query: Query, documents: list[str], /, **changes: Any) -> dict[str, Any]:
    listed = [{"id": id_, "score": None} for id_ in documents]
    told: dict[str, Any] = {"query": query.text, "asked": asked(query), "documents": listed}
    return decision(name, **told | changes)


def lists_of(shown: ShownLists) -> list[list[str]]:
    return [[shown.documents[place] for place in row if place >= 0] for row in shown.lists]


def asked_in(shown: ShownLists) -> list[Query | None]:
    """What each decision asked, without the id that it got here."""
    found = [shown.queries[row] if row >= 0 else None for row in shown.rows]
    return [query and Query(query.text, query.history, query.filters) for query in found]


DRAWN = st.tuples(
    st.sampled_from(
        [Query("a"), Query("a", TALK), Query("a", filters=Filters({"t": 1})), Query("b")]
    ),
    st.lists(st.sampled_from([f"d{n}" for n in range(15)]), min_size=1, max_size=14),
)


@given(st.lists(DRAWN, max_size=8), st.randoms())
def test_lists_and_queries_come_back(drawn: list[tuple[Query, list[str]]], random: Any) -> None:
    records = [record(str(row), *one) for row, one in enumerate(drawn)]
    rows = list(range(len(drawn)))
    random.shuffle(rows)
    shown = read_shown(records, [str(row) for row in rows])
    assert len(shown) == len(drawn)
    assert asked_in(shown) == [drawn[row][0] for row in rows]
    assert lists_of(shown) == [list(dict.fromkeys(drawn[row][1]))[:LISTED] for row in rows]
    assert len({query.id for query in shown.queries}) == len(shown.queries)
    assert len(set(shown.queries)) == len({query for query, _ in drawn})


def test_every_form_of_a_log_is_read(tmp_path: Path) -> None:
    records: list[Any] = []
    for number in range(6):
        records += [
            record(str(number), Query(f"q{number % 2}", TALK), [f"d{number}", "d0"]),
            feedback(str(number), 0.5),
        ]
    whole = write_lines(tmp_path / "whole.jsonl", records)
    write_records(records, tmp_path / "log.parquet")
    write_records(records, tmp_path / "log.gz")
    rotated = write_lines(tmp_path / "turned.jsonl", records[6:])
    older = write_lines(tmp_path / "older", records[:6]).read_bytes()
    (tmp_path / "turned.jsonl.20260101T000000.000001Z.gz").write_bytes(gzip.compress(older))
    expected = read_shown(whole, [str(number) for number in range(6)])
    assert (expected.rows >= 0).all()
    for path in (tmp_path / "log.parquet", tmp_path / "log.gz"):
        found = read_shown(path, dataset(path)[0].decision_ids)
        assert lists_of(found) == lists_of(expected)
        assert asked_in(found) == asked_in(expected)
    late = read_shown(rotated, ["4", "5"])
    assert lists_of(late) == lists_of(expected)[4:]


def test_what_a_log_does_not_hold_has_no_row() -> None:
    old = record("old", Query("a"), ["x"])
    del old["asked"]
    records = [
        old,
        record("hidden", Query("a"), ["x"], query=None),
        record("nothing shown", Query("a"), []),
        record("whole", Query("a"), ["x", "y"]),
    ]
    names = ["old", "hidden", "nothing shown", "absent", "whole"]
    shown = read_shown(records, names)
    assert shown.rows.tolist() == [-1, -1, -1, -1, 0]
    assert lists_of(shown) == [[], [], [], [], ["x", "y"]]


def test_the_first_record_of_a_name_counts_as_for_the_arrays() -> None:
    records = [record("1", Query("a"), ["x"]), record("1", Query("b"), ["y"]), feedback("1")]
    bandit, _ = dataset(records)
    assert len(bandit) == 1
    shown = read_shown(records, bandit.decision_ids)
    assert asked_in(shown) == [Query("a")]
    hidden = [record("1", Query("a"), ["x"], query=None), *records[1:]]
    assert read_shown(hidden, ["1"]).rows.tolist() == [-1]


def test_a_decision_that_is_wanted_twice_is_there_twice() -> None:
    records = [record("1", Query("a"), ["x"]), record("2", Query("b"), ["y"])]
    shown = read_shown(records, ["2", "1", "2"])
    assert asked_in(shown) == [Query("b"), Query("a"), Query("b")]
    assert lists_of(shown) == [["y"], ["x"], ["y"]]


@pytest.mark.parametrize(
    ("lengths", "depth"), [([3, 3, 3, 10], 3), ([10, 10, 2], 10), ([14], 10), ([1], 1), ([], 10)]
)
def test_how_deep_users_look_is_what_lists_mostly_hold(lengths: list[int], depth: int) -> None:
    records = [
        record(str(row), Query("a"), [f"d{n}" for n in range(length)])
        for row, length in enumerate(lengths)
    ]
    shown = read_shown(records, [str(row) for row in range(len(lengths))])
    assert shown.depth == depth
    assert shown.lists.dtype == np.int32


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no decision log at"):
        read_shown(tmp_path / "none.jsonl", ["1"])
