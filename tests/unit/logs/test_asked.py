"""What else was asked beside a query's words, on its way through a log and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rl_rewriter.logs.asked import (
    MAX_CHARS,
    MAX_FILTER_CHARS,
    MAX_FILTER_LEVELS,
    MAX_TURNS,
    asked,
    asked_of,
    is_asked,
)
from rl_rewriter.logs.config import LogConfig
from rl_rewriter.logs.convert import write_records
from rl_rewriter.logs.encoding import from_line, to_line
from rl_rewriter.logs.importers.found import Step
from rl_rewriter.logs.importers.observed import Origin
from rl_rewriter.logs.importers.own_decision import own_decision
from rl_rewriter.logs.reader import read_records
from rl_rewriter.logs.records import QueryPrivacy
from rl_rewriter.logs.schema import problem_of
from rl_rewriter.logs.store import DecisionLog
from rl_rewriter.policies.decider import kept
from rl_rewriter.types import Filters, Query, Turn
from tests.logged import decision

TURNS = st.builds(Turn, st.sampled_from(["user", "assistant"]), st.text(max_size=20))
SCALARS = st.one_of(
    st.booleans(),
    st.text(max_size=5),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False),
)
CONDITIONS = st.dictionaries(
    st.text(max_size=5), st.one_of(SCALARS, st.lists(SCALARS, max_size=3)), max_size=3
)
FILTERS = st.builds(Filters, st.one_of(st.none(), CONDITIONS), st.one_of(st.none(), CONDITIONS))
SEARCHABLE = st.text(min_size=1, max_size=20).filter(lambda text: bool(text.strip()))
QUERIES = st.builds(
    Query,
    SEARCHABLE,
    st.lists(TURNS, max_size=4).map(tuple),
    st.one_of(st.none(), FILTERS),
)


def written(query: Query, **settings: Any) -> dict[str, Any]:
    return decision(query=query.text, asked=asked(query), **settings)


def bare(query: Query) -> Query:
    """Without filters that restrict nothing, which a log can't tell from none."""
    restricts = query.filters is not None and query.filters.key != Filters().key
    return query if restricts else Query(query.text, query.history)


@given(QUERIES)
def test_queries_come_back_through_json(query: Query) -> None:
    record = from_line(to_line(written(query)))
    assert problem_of(record) is None
    assert asked_of(record) == bare(query)


@given(queries=st.lists(QUERIES, min_size=1, max_size=4))
def test_queries_come_back_through_every_form_of_a_log(
    queries: list[Query], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("log")
    records = [written(query, id=str(number)) for number, query in enumerate(queries)]
    for name in ("log.jsonl", "log.jsonl.gz", "log.parquet"):
        write_records(records, folder / name)
        found = list(read_records(folder / name, strict=True))
        assert [record["asked"] for record in found] == [record["asked"] for record in records]
        assert [asked_of(record) for record in found] == list(map(bare, queries))


@given(st.integers(0, 2 * MAX_TURNS), st.integers(0, MAX_CHARS + 5))
def test_long_conversations_keep_their_first_turn_and_their_end(n: int, n_chars: int) -> None:
    turns = tuple(Turn("user", f"{number:02}" + "x" * n_chars) for number in range(n))
    told = asked(Query("q", turns))
    assert told is not None
    kept_numbers = [int(turn["text"][:2]) for turn in told["history"]]
    if n <= MAX_TURNS:
        assert kept_numbers == list(range(n))
    else:
        assert kept_numbers == [0, *range(n - MAX_TURNS + 1, n)]
    assert all(len(turn["text"]) == min(MAX_CHARS, n_chars + 2) for turn in told["history"])


@pytest.mark.parametrize(
    "where",
    [
        {"tenant": object()},
        {"price": float("nan")},
        {"price": np.int64(3)},
        {"tenant": {"$in": ("a", "b")}},
        {3: "a"},
        {"tenant": {"$in": ["x" * MAX_FILTER_CHARS]}},
        ["tenant"],
    ],
)
def test_filters_that_json_cannot_hold_are_not_written_as_others(
    where: Any, tmp_path: Path
) -> None:
    """The decision is logged all the same, and nothing is searched again without its filter."""
    query = Query("q", (Turn("user", "hi"),), Filters(where))
    assert asked(query) is None
    log = DecisionLog(tmp_path / "log.jsonl")
    assert log.append_decision(kept(query, "untrained"), [])
    [record] = read_records(log.path, strict=True)
    assert record["asked"] is None
    assert asked_of(record) is None


@pytest.mark.parametrize("turn", [Turn("system", "be kind"), ("user", "hi")])  # type: ignore[arg-type]
def test_a_conversation_that_readers_would_refuse_costs_no_decision(
    turn: Any, tmp_path: Path
) -> None:
    log = DecisionLog(tmp_path / "log.jsonl")
    log.append_decision(kept(Query("q", (turn,)), "untrained"), [])
    [record] = read_records(log.path, strict=True)
    assert record["asked"] is None


def test_a_filter_that_loops_is_left_out() -> None:
    loop: dict[str, Any] = {}
    loop["again"] = loop
    deep: dict[str, Any] = {}
    for _ in range(5_000):
        deep = {"d": deep}
    for where in (loop, deep):
        assert asked(Query("q", filters=Filters(where))) is None


def nested(levels: int) -> dict[str, Any]:
    deep: dict[str, Any] = {}
    for _ in range(levels - 1):
        deep = {"d": deep}
    return deep


def test_filters_as_deep_as_they_may_be_come_back() -> None:
    deep = Query("q", filters=Filters(nested(MAX_FILTER_LEVELS)))
    assert asked_of(from_line(to_line(written(deep)))) == deep
    assert asked(Query("q", filters=Filters(nested(MAX_FILTER_LEVELS + 1)))) is None


@pytest.mark.parametrize(
    "where",
    [
        nested(MAX_FILTER_LEVELS + 1),
        nested(700),
        nested(980),  # read by Python's parser, and too deep to be written again
        {"price": float("nan")},
        {"tenant": "x" * MAX_FILTER_CHARS},
    ],
)
def test_filters_that_nobody_wrote_are_not_searched_by(where: Any) -> None:
    """A log by others may hold them; the record is read all the same."""
    record = decision(query="q", asked={"history": [], "where": where})
    assert problem_of(record) is None
    assert asked_of(record) is None


@pytest.mark.parametrize("privacy", ["hash", "none"])
def test_no_conversation_is_kept_where_words_are_not(privacy: QueryPrivacy, tmp_path: Path) -> None:
    query = Query("q", (Turn("user", "my secret"),), Filters({"tenant": "secret tenant"}))
    log = DecisionLog(tmp_path / "log.jsonl", log_queries=privacy)
    log.append_decision(kept(query, "untrained"), [])
    assert b"secret" not in log.path.read_bytes()
    [record] = read_records(log.path)
    assert "asked" not in record
    assert record["history_len"] == 1
    assert asked_of(record) is None


def test_it_can_be_switched_off(tmp_path: Path) -> None:
    query = Query("words", (Turn("user", "my secret"),))
    log = DecisionLog(tmp_path / "log.jsonl", config=LogConfig(log_conversation=False))
    log.append_decision(kept(query, "untrained"), [])
    [record] = read_records(log.path)
    assert record["query"] == "words"
    assert "asked" not in record
    assert b"secret" not in log.path.read_bytes()


@pytest.mark.parametrize(("privacy", "is_kept"), [("text", True), ("hash", False), ("none", False)])
def test_an_import_keeps_no_conversation_where_it_keeps_no_words(
    privacy: QueryPrivacy, is_kept: bool
) -> None:
    record = written(Query("q", (Turn("user", "my secret"),)))
    step = Step("s", "", "", is_retrieval=True, record=json.dumps(record))
    found = own_decision(step, {}, Origin(how="imported", source="otel", log_queries=privacy))
    assert found is not None
    assert ("secret" in json.dumps(found)) is is_kept
    assert problem_of(found) is None


@pytest.mark.parametrize(
    "told",
    [
        [],
        "hi",
        {},
        {"history": None},
        {"history": [["user", "hi"]]},
        {"history": [{"role": "system", "text": "hi"}]},
        {"history": [{"role": "user", "text": 3}]},
        {"history": [{"role": ["user"], "text": "hi"}]},
        {"history": [], "where": "tenant"},
        {"history": [], "where_document": [1]},
    ],
)
def test_what_is_malformed_is_told_in_one_sentence(told: Any) -> None:
    assert not is_asked(told)
    problem = problem_of(decision(asked=told))
    assert problem is not None
    assert problem.reason == "bad_asked"
    assert problem.sentence.endswith(
        "for asked, which must be an object of history, where and where_document, or null"
    )
    assert "\n" not in problem.sentence


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"asked": None},
        {"query": None},
        {"query": "  "},
        {"query": "half of \ud83d"},
        {"asked": {"history": [{"role": "user", "text": "half of \ud83d"}]}},
    ],
)
def test_where_a_log_cannot_tell_nothing_is_searched_again(changes: dict[str, Any]) -> None:
    record = decision(query="q") if not changes else written(Query("q"), **{}) | changes
    assert problem_of(record) is None
    assert asked_of(record) is None
