"""Files of rewrites: what is read, what is refused, which queries are covered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rl_rewriter.benchmark.collections.judged import JudgedCollection
from rl_rewriter.benchmark.rewrite_rows import short_names
from rl_rewriter.benchmark.rewrites import Rewrites, covered, read_rewrites, strengths_for
from rl_rewriter.errors import InputError
from rl_rewriter.types import Evidence, Needs, Query, Turn
from tests.beir import write_rows

ROW = {"_id": "1", "text": "refund", "method": "genqr", "model": "openai/gpt-4.1"}


def rewrites_of(folder: Path, *rows: Mapping[str, Any]) -> Rewrites:
    path = folder / "rewrites.jsonl"
    write_rows(path, rows)
    return read_rewrites(path)


def texts(rewrites: Rewrites) -> dict[str, dict[str, str]]:
    return {
        arm: {id_: made.text for id_, made in by_id.items()} for arm, by_id in rewrites.arms.items()
    }


def collection(**settings: Any) -> JudgedCollection:
    queries = tuple(Query(f"question {number}", id=str(number)) for number in range(1, 7))
    return JudgedCollection(
        name="shop",
        documents={"d": "text"},
        queries=queries,
        qrels={query.id: {"d": 1.0} for query in queries},
        **settings,
    )


def test_every_arm_becomes_an_action(tmp_path: Path) -> None:
    found = rewrites_of(
        tmp_path,
        ROW,
        {**ROW, "_id": "2", "text": " parcel \n"},
        {**ROW, "_id": 3, "model": "Qwen/Qwen2.5-7B", "run": "5c9a", "llm_calls": 4},
        {"_id": "1", "text": "by hand", "arm": "llm:human", "llm_calls": 0, "model": "none"},
        {"_id": "1", "text": "m", "method": "rm3"},
        {"_id": "1", "text": "n", "model": "acme/small"},
    )
    assert texts(found) == {
        "genqr/gpt-4.1": {"1": "refund", "2": "parcel"},
        "genqr/Qwen2.5-7B": {"3": "refund"},
        "human": {"1": "by hand"},
        "rm3": {"1": "m"},
        "small": {"1": "n"},
    }
    assert [action.name for action in found.actions()] == [f"llm:{arm}" for arm in found.arms]
    assert found.arms["genqr/Qwen2.5-7B"]["3"].llm_calls == 4
    assert found.arms["human"]["1"].llm_calls == 0
    half = found.actions(strengths=(1.0, 0.5))[-1]
    assert half.name == "llm:small@0.5"
    assert strengths_for(Needs.BLEND) == strengths_for(Needs.NOTHING) == (1.0,)
    assert strengths_for(Needs.BLEND | Needs.VECTOR) == (1.0, 0.5)


def test_models_of_one_name_keep_their_owner(tmp_path: Path) -> None:
    rows = [{**ROW, "model": model} for model in ("a/llama", "b/llama", "c/qwen", "gpt")]
    assert list(rewrites_of(tmp_path, *rows).arms) == [
        "genqr/a/llama", "genqr/b/llama", "genqr/qwen", "genqr/gpt"
    ]  # fmt: skip
    assert short_names(["a/x/", "y"]) == {"a/x/": "x", "y": "y"}


def test_the_first_of_several_counts(tmp_path: Path) -> None:
    found = rewrites_of(
        tmp_path,
        {**ROW, "run": "a"},
        {**ROW, "run": "b", "text": "later"},
        {**ROW, "_id": "2", "text": " "},
        {**ROW, "_id": "2", "text": "after an empty one"},
        {**ROW, "_id": "1", "method": "other"},
    )
    assert texts(found) == {"genqr/gpt-4.1": {"1": "refund"}, "other/gpt-4.1": {"1": "refund"}}
    assert (found.n_repeated, found.n_empty) == (2, 1)


def test_words_find_a_rewrite_where_ids_do_not(tmp_path: Path) -> None:
    found = rewrites_of(
        tmp_path,
        {"query": "Money  back?", "text": "refund", "arm": "a"},
        {"_id": "7", "query": "parcel", "text": "delivery", "arm": "a"},
        {"_id": "8", "text": "exchange", "arm": "a"},
    )
    asked = Query("swap it", (Turn("user", "shoes"),), id="8")
    [action] = found.actions([asked])

    def text(query: Query) -> str | None:
        made = action.rewrite(Evidence(query, None))  # type: ignore[arg-type]
        return None if made is None else made.text

    assert text(Query("money back?", id="1")) == "refund"
    assert text(Query("Parcel")) == "delivery"
    assert text(Query("x", id="7")) == "delivery"
    assert text(Query("swap it", (Turn("user", "Shoes"),))) == "exchange"
    assert text(Query("swap it")) is None
    same_words = Query("Swap it", asked.history, id="9")
    other = Query("size", id="10")
    assert found.of([asked, same_words, other]) == (asked, same_words)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"_id": "1", "text": ', "line 2 is no JSON"),
        ("[1]", "line 2 is no JSON object"),
        ("[" * 100_000, "line 2 is nested too deeply|line 2 is no JSON"),
        ('{"text": "x", "arm": "a"}', 'line 2 has neither "_id" nor "query"'),
        ('{"query": " ", "text": "x", "arm": "a"}', 'line 2 has neither "_id" nor "query"'),
        ('{"_id": null, "text": "x", "arm": "a"}', 'line 2 has neither "_id" nor "query"'),
        ('{"_id": true, "text": "x", "arm": "a"}', "line 2: an id must be a text or a whole n"),
        ('{"_id": "1", "query": 7, "text": "x", "arm": "a"}', "line 2: the query must be a text"),
        ('{"_id": "1", "arm": "a"}', "line 2: the rewrite must be a text, got None"),
        (
            '{"_id": "1", "text": ["x"], "arm": "a"}',
            r"line 2: the rewrite must be a text, got \['x",
        ),
        ('{"_id": "1", "text": "x"}', 'line 2 has no "arm", and no "method" or "model" either'),
        ('{"_id": "1", "text": "x", "arm": 7}', "line 2: arm must be a name, got 7"),
        ('{"_id": "1", "text": "x", "arm": " "}', "line 2: arm must be a name, got ' '"),
        ('{"_id": "1", "text": "x", "method": "a\\nb"}', "line 2: method must be a name"),
        (
            '{"_id": "1", "text": "x", "arm": "a", "llm_calls": -1}',
            "line 2: llm_calls must be a wh",
        ),
        ('{"_id": "1", "text": "x", "arm": "a", "llm_calls": NaN}', "line 2: llm_calls must be"),
        ('{"_id": "1", "text": "x", "arm": "a", "llm_calls": true}', "line 2: llm_calls must be"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "rewrites.jsonl"
    path.write_text(f"{json.dumps(ROW)}\n{line}\n", encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_rewrites(path)


def test_bad_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "rewrites.jsonl"
    with pytest.raises(InputError, match=r"rewrites.jsonl is missing"):
        read_rewrites(path)
    path.write_bytes(b"")
    with pytest.raises(InputError, match=r"rewrites.jsonl is empty"):
        read_rewrites(path)
    path.write_bytes(b"\xff\xfe\x00\x01" * 10)
    with pytest.raises(InputError, match=r"rewrites.jsonl is not UTF-8"):
        read_rewrites(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_rewrites(tmp_path)


def test_queries_without_a_rewrite_are_left_out_with_a_note(tmp_path: Path) -> None:
    found = rewrites_of(tmp_path, *({**ROW, "_id": id_} for id_ in ("1", "2", "4", "99")))
    whole = collection(test_ids=frozenset({"4", "5"}), notes=("before",))
    part = covered(whole, found)
    assert [query.id for query in part.train] == ["1", "2"]
    assert [query.id for query in part.test] == ["4"]
    assert part.protocol == "split"
    path = tmp_path / "rewrites.jsonl"
    assert part.notes == (
        "before",
        f"{path}: 1 query ids are not in the collection, such as '99'",
        f"3 of 6 queries left out: {path} has no rewrite for them",
    )


def test_where_nothing_stays_to_learn_from_the_rest_is_cross_validated(tmp_path: Path) -> None:
    found = rewrites_of(tmp_path, *({**ROW, "_id": id_} for id_ in ("3", "4", "5")))
    for test_ids, side in (
        (frozenset({"3", "4", "5"}), "training"),
        (frozenset({"1"}), "held-out"),
    ):
        part = covered(collection(test_ids=test_ids), found)
        assert part.protocol == "cv5"
        assert {query.id for query in (*part.train, *part.test)} == {"3", "4", "5"}
        assert part.train
        assert part.test
        assert f"no {side} query of 'shop' has a rewrite" in part.notes[-1]
    limited = collection().limited(2)
    assert covered(limited, rewrites_of(tmp_path, *({**ROW, "_id": q.id} for q in limited.test)))


def test_everything_odd_is_noted(tmp_path: Path) -> None:
    rows = [{**ROW, "_id": str(number)} for number in range(1, 7)]
    found = rewrites_of(
        tmp_path, *rows, rows[0], {**rows[0], "method": "b"}, {**rows[1], "method": "b", "text": ""}
    )
    whole = covered(collection(), found)
    path = tmp_path / "rewrites.jsonl"
    assert whole.queries == collection().queries
    assert whole.notes == (
        f"{path}: 1 lines left out whose query and arm stand before",
        f"{path}: 1 lines without a text: those queries are kept",
        "llm:b/gpt-4.1 has no rewrite for 5 queries, which are kept",
    )


def test_a_file_of_other_queries_is_refused(tmp_path: Path) -> None:
    found = rewrites_of(tmp_path, {**ROW, "_id": "elsewhere"})
    with pytest.raises(InputError, match=r"no rewrite for any of the 6 queries of 'shop'.*'1'"):
        covered(collection(), found)
