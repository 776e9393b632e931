"""LangSmith's runs and feedback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.logs.importers.parts import QUESTION, START, import_rows, run, thumb


def test_a_retriever_run_by_hand(tmp_path: Path) -> None:
    row = run("r", parent="root", extra={"metadata": {"thread_id": "conversation"}})

    found = import_rows(tmp_path, "langsmith", [row])

    assert found.decision == {
        "schema": 1,
        "type": "decision",
        "id": "r",
        "time": START,
        "query": QUESTION,
        "history_len": 0,
        "action": "keep",
        "strength": 0.0,
        "texts": [QUESTION],
        "propensity": None,
        "probabilities": {},
        "state": None,
        "state_schema": "",
        "policy_version": "imported",
        "policy_name": "langsmith",
        "explored": False,
        "reason": "imported:langsmith",
        "documents": [{"id": "a", "score": None}, {"id": "b", "score": None}],
        "latency_ms": 500.0,
        "cost": 0.0,
        "tags": {
            "run_id": "r",
            "trace_id": "root",
            "session_id": "conversation",
            "source": "langsmith",
        },
    }
    assert found.report.to_json() == {
        "schema": 1,
        "records": 1,
        "decisions": 1,
        "feedback": 0,
        "with_propensity": 0,
        "skipped": {},
        "actions": {"keep": 1},
        "problems": [],
        "read": 1,
        "notes": {},
    }


def test_the_project_of_a_run_is_no_conversation(tmp_path: Path) -> None:
    found = import_rows(tmp_path, "langsmith", [run("r", session_id="the project")])
    assert "session_id" not in found.decision["tags"]


def test_feedback_on_the_root_reaches_the_retrieval(tmp_path: Path) -> None:
    rows = [run("root", "chain"), run("r", parent="root")]

    found = import_rows(tmp_path, "langsmith", rows, [thumb("root"), thumb("r", 0)])

    assert found.feedback == [
        {
            "schema": 1,
            "type": "feedback",
            "decision_id": "r",
            "time": START + 60.0,
            "kind": "thumb",
            "value": value,
            "position": None,
            "document_id": None,
        }
        for value in (1.0, 0.0)
    ]
    assert found.report.notes == {}


def test_feedback_finds_its_trace_where_the_root_was_not_exported(tmp_path: Path) -> None:
    found = import_rows(tmp_path, "langsmith", [run("r", parent="root")], [thumb("root")])
    assert found.verdicts("r") == [("thumb", 1.0)]


def test_feedback_on_a_trace_with_several_retrievals_goes_to_each_and_is_counted(
    tmp_path: Path,
) -> None:
    rows = [run("root", "chain"), run("r1", parent="root"), run("r2", parent="root")]

    found = import_rows(tmp_path, "langsmith", rows, [thumb("root")])

    assert found.verdicts("r1") == found.verdicts("r2") == [("thumb", 1.0)]
    assert found.report.feedback == 2
    assert found.report.notes == {"feedback shared by the retrievals of its trace": 1}


def test_feedback_on_a_step_is_on_the_retrievals_inside_it_where_there_are_any(
    tmp_path: Path,
) -> None:
    rows = [
        run("root", "chain"),
        run("turn 1", "chain", parent="root"),
        run("turn 2", "chain", parent="root"),
        run("answer", "llm", parent="root"),
        run("r1", parent="turn 1"),
        run("r2", parent="turn 2"),
    ]

    found = import_rows(tmp_path, "langsmith", rows, [thumb("turn 1"), thumb("answer", 0)])

    assert found.verdicts("r1") == [("thumb", 1.0), ("thumb", 0.0)]
    assert found.verdicts("r2") == [("thumb", 0.0)]


def test_feedback_may_come_before_runs_and_children_before_parents(tmp_path: Path) -> None:
    rows = [thumb("root"), run("r", parent="root"), run("root", "chain")]

    found = import_rows(tmp_path, "langsmith", rows)

    assert found.verdicts("r") == [("thumb", 1.0)]


@pytest.mark.parametrize(
    ("fields", "value"),
    [
        ({"score": 0.25}, 0.25),
        ({"score": True}, 1.0),
        ({"score": "0.5"}, 0.5),
        ({"score": None, "value": 3}, 3.0),
        ({"score": None, "value": "Thumbs Up"}, 1.0),
        ({"score": None, "value": "incorrect"}, 0.0),
        ({"score": None, "value": "rather good"}, None),
        ({"score": None, "value": {"a": 1}}, None),
        ({"score": float("nan")}, None),
        ({"score": float("inf")}, None),
        ({"score": 10**400}, None),
    ],
)
def test_scores_become_numbers_or_are_counted(
    tmp_path: Path, fields: dict[str, Any], value: float | None
) -> None:
    found = import_rows(tmp_path, "langsmith", [run("r"), thumb("r", **fields)])

    if value is None:
        assert found.feedback == []
        assert found.report.skipped["feedback without a number"] == 1
    else:
        assert found.verdicts("r") == [("thumb", value)]


def test_statistics_of_feedback_stand_in_where_it_was_not_exported(tmp_path: Path) -> None:
    statistics = {"thumb": {"n": 2, "avg": 0.5}, "note": {"n": 1, "avg": None}, "none": {"n": 0}}
    row = run("r", feedback_stats=json.dumps(statistics))

    alone = import_rows(tmp_path, "langsmith", [row])
    assert alone.verdicts("r") == [("thumb", 0.5)]

    beside = import_rows(tmp_path, "langsmith", [row], [thumb("r", 1)], replace=True)
    assert beside.verdicts("r") == [("thumb", 1.0)]
    assert beside.report.skipped["mean of feedback that is there itself"] == 1


@pytest.mark.parametrize(
    ("inputs", "history"),
    [
        ({"input": "and abroad?"}, 0),
        ({"question": "and abroad?", "chat_history": [1, 2]}, 2),
        ({"input": {"question": "and abroad?"}}, 0),
        ('{"query": "and abroad?"}', 0),
        ({"messages": [["ai", "Hello"], ["human", "and abroad?"]]}, 1),
        ({"messages": [{"type": "human", "content": "and abroad?"}]}, 0),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "and abroad?"}]}]},
            0,
        ),
        (
            {
                "messages": [
                    {
                        "lc": 1,
                        "type": "constructor",
                        "id": ["langchain", "schema", "messages", "HumanMessage"],
                        "kwargs": {"content": "and abroad?"},
                    }
                ]
            },
            0,
        ),
    ],
)
def test_a_chain_that_rewrote_the_question_is_seen(
    tmp_path: Path, inputs: Any, history: int
) -> None:
    rows = [
        run("r", parent="step", inputs={"query": "refunds for orders from abroad"}),
        run("step", "chain", parent="root", inputs={"output": "irrelevant"}),
        run("root", "chain", inputs=inputs),
    ]

    record = import_rows(tmp_path, "langsmith", rows).decision

    assert record["action"] == "imported:rewrite"
    assert record["query"] == "and abroad?"
    assert record["texts"] == ["refunds for orders from abroad"]
    assert (record["strength"], record["history_len"]) == (1.0, history)


def test_the_words_are_those_of_the_outermost_span(tmp_path: Path) -> None:
    rows = [
        run("root", "chain", inputs={"input": "and abroad?"}),
        run("step", "chain", parent="root", inputs={"question": "condensed"}),
        run("r", parent="step"),
    ]
    assert import_rows(tmp_path, "langsmith", rows).decision["query"] == "and abroad?"


def test_the_root_is_found_where_the_steps_between_were_not_exported(tmp_path: Path) -> None:
    rows = [
        run("root", "chain", inputs={"input": "and abroad?"}),
        run("r", parent="not exported"),
        run("other", parent="not exported", trace_id="elsewhere"),
    ]
    found = import_rows(tmp_path, "langsmith", rows, [thumb("root")])
    assert [record["query"] for record in found.decisions] == ["and abroad?", QUESTION]
    assert found.verdicts("r") == [("thumb", 1.0)]
    assert found.verdicts("other") == []


def test_spaces_and_case_make_no_rewrite(tmp_path: Path) -> None:
    rows = [
        run("root", "chain", inputs={"input": f"  {QUESTION.upper()}\n"}),
        run("r", parent="root"),
    ]
    record = import_rows(tmp_path, "langsmith", rows).decision
    assert (record["action"], record["query"]) == ("keep", QUESTION)


def test_a_retriever_that_asks_others_counts_once(tmp_path: Path) -> None:
    rows = [
        run("many", parent="root"),
        run("step", "chain", parent="many"),
        run("one", parent="step", inputs={"query": "refund"}),
        run("two", parent="step", inputs={"query": "money back"}),
        run("root", "chain"),
    ]

    found = import_rows(tmp_path, "langsmith", rows, [thumb("two"), thumb("root")])

    assert found.decision["id"] == "many"
    assert found.decision["action"] == "imported:rewrite"
    assert found.decision["texts"] == ["refund", "money back"]
    assert found.verdicts("many") == [("thumb", 1.0), ("thumb", 1.0)]
    assert found.report.skipped["retrieval inside another one"] == 2


def test_the_outermost_of_several_levels_counts(tmp_path: Path) -> None:
    rows = [
        run("inner", parent="middle", inputs={"query": "refund"}),
        run("middle", parent="outer", inputs={"query": "money back"}),
        run("outer"),
    ]
    found = import_rows(tmp_path, "langsmith", rows, [thumb("inner")])
    assert found.decision["id"] == "outer"
    assert found.decision["texts"] == ["refund", "money back"]
    assert found.verdicts("outer") == [("thumb", 1.0)]


def test_what_this_package_logged_itself_is_not_logged_again_but_its_feedback_is(
    tmp_path: Path,
) -> None:
    rows = [
        run("outer", name="RewritingRetriever", parent="root"),
        run("inner", parent="outer", inputs={"query": "refund"}),
        run("other"),
    ]

    found = import_rows(tmp_path, "langsmith", rows, [thumb("root")])

    assert found.decision["id"] == "other"
    assert found.verdicts("outer") == [("thumb", 1.0)]
    assert found.report.skipped["retrieval that this package has logged itself"] == 1


def test_what_can_not_be_mapped_is_counted(tmp_path: Path) -> None:
    rows = [
        run("good"),
        run("good"),
        run("failed", error="timeout"),
        run("open", end_time=None, outputs=None),
        run("hidden", inputs={}),
        run("", id=None),
        run("llm", "llm"),
        {"something": "else"},
    ]

    found = import_rows(tmp_path, "langsmith", rows, [thumb("nobody", trace_id="nowhere")])

    assert found.report.decisions == 1
    assert found.report.skipped == {
        "span that was there already": 1,
        "retrieval that failed": 1,
        "retrieval that never ended": 1,
        "retrieval without a query text": 1,
        "span without an id": 1,
        "span that is no retrieval": 1,
        "row of another kind": 1,
        "feedback on nothing that was imported": 1,
    }
    first, second = found.report.problems
    assert first.startswith(f"{tmp_path / 'export.jsonl'} line 5 is a retrieval whose query text")
    assert second.startswith(f"{tmp_path / 'export.jsonl'} line 6 holds a span without an id")


def test_hidden_outputs_leave_the_documents_open(tmp_path: Path) -> None:
    found = import_rows(tmp_path, "langsmith", [run("r", outputs={})])
    assert found.decision["documents"] == []
    assert found.report.notes == {"retrievals whose documents weren't recorded": 1}


def test_an_empty_ranking_is_a_ranking(tmp_path: Path) -> None:
    found = import_rows(tmp_path, "langsmith", [run("r", outputs={"documents": []})])
    assert found.decision["documents"] == []
    assert found.report.notes == {}
