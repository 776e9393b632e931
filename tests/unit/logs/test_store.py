"""The decision log: nothing lost, nothing mixed, whatever happens to the process."""

from __future__ import annotations

import copy
import json
import logging
import pickle
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from rl_rewriter.errors import InputError
from rl_rewriter.logs.store import DecisionLog, read_interactions, read_records
from rl_rewriter.policies.decider import kept
from rl_rewriter.types import Feedback, Query, ScoredDocument

WRITER = """
import sys, threading
from rl_rewriter.logs.store import DecisionLog
from rl_rewriter.policies.decider import kept
from rl_rewriter.types import Feedback, Query, ScoredDocument

log, process = DecisionLog(sys.argv[1]), sys.argv[2]
long = "refund \\u9000\\u6b3e " * 500

def write(thread):
    for number in range(25):
        name = f"{process}-{thread}-{number}"
        log.append_decision(
            kept(Query(f"{name} {long}"), "untrained", decision_id=name), [ScoredDocument("d", 0.5)]
        )
        log.append_feedback(Feedback(name, 1.0, "thumb", 0.0))

threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


@pytest.fixture
def log(tmp_path: Path) -> DecisionLog:
    return DecisionLog(tmp_path / "deep" / "log.jsonl")


def append(log: DecisionLog, name: str, text: str = "q") -> None:
    log.append_decision(kept(Query(text), "untrained", decision_id=name), [])


def ids(log: DecisionLog) -> list[str]:
    return [str(record["id"]) for record in read_records(log.path)]


def test_threads_and_processes_lose_and_mix_nothing(log: DecisionLog) -> None:
    command = [sys.executable, "-c", WRITER, str(log.path)]
    writers = [subprocess.Popen([*command, str(number)]) for number in range(4)]
    assert [writer.wait(timeout=120) for writer in writers] == [0] * 4
    expected = {f"{p}-{t}-{n}" for p in range(4) for t in range(8) for n in range(25)}
    lines = log.path.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 2 * len(expected)
    records = [json.loads(line) for line in lines]
    assert Counter(record["type"] for record in records) == {"decision": 800, "feedback": 800}
    for interaction in read_interactions(log.path):
        name = interaction.decision["id"]
        expected.remove(name)
        assert interaction.decision["query"].startswith(f"{name} refund")
        assert [f.decision_id for f in interaction.feedback] == [name]
    assert expected == set()


@pytest.mark.parametrize(
    "torn", [b'{"schema": 1, "id": "to', b"{", b"\x00\x00\x00", b'{"a": "\xff']
)
def test_a_torn_last_line_hides_no_other_record(
    log: DecisionLog, torn: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    append(log, "before")
    with log.path.open("ab") as file:
        file.write(torn)
    assert ids(log) == ["before"]
    append(log, "after")
    append(log, "later")
    with caplog.at_level(logging.WARNING):
        assert ids(log) == ["before", "after", "later"]
    assert "log.jsonl line 2 is no record and was skipped" in caplog.text


def test_a_whole_last_line_without_its_newline_is_a_record(log: DecisionLog) -> None:
    append(log, "before")
    log.path.write_bytes(log.path.read_bytes().rstrip(b"\n"))
    append(log, "after")
    assert ids(log) == ["before", "after"]


def test_foreign_lines_are_skipped(log: DecisionLog, caplog: pytest.LogCaptureFixture) -> None:
    append(log, "one")
    with log.path.open("ab") as file:
        file.write(b"\n   \nnot json\n[1]\n3\nnull\n" + b"[" * 100_000 + b"\n")
    append(log, "two")
    with caplog.at_level(logging.WARNING):
        assert ids(log) == ["one", "two"]
    assert caplog.text.count("was skipped") == 5


def test_a_line_by_hand_follows_the_format(log: DecisionLog) -> None:
    decision = kept(Query("如何退款\n\ud800"), "untrained", decision_id="1")
    log.append_decision(decision, [ScoredDocument("d", 0.5, "text", {})], {"user": 7, "set": {1}})
    [line] = log.path.read_bytes().splitlines()
    record = json.loads(line)
    assert record.pop("time") == pytest.approx(decision.time)
    assert record == {
        "schema": 1,
        "type": "decision",
        "id": "1",
        "query": "如何退款\n\ud800",
        "history_len": 0,
        "action": "keep",
        "strength": 0.0,
        "texts": ["如何退款\n\ud800"],
        "propensity": 1.0,
        "probabilities": {"keep": 1.0},
        "state": None,
        "state_schema": "",
        "policy_version": "untrained",
        "policy_name": "keep",
        "explored": False,
        "reason": "untrained",
        "documents": [{"id": "d", "score": 0.5}],
        "latency_ms": 0.0,
        "cost": 0.0,
        "tags": {"user": 7, "set": "{1}"},
    }
    assert all(byte < 128 for byte in line)


def test_scores_without_a_number_are_null(log: DecisionLog) -> None:
    documents = [ScoredDocument("a", float("nan")), ScoredDocument("b", float("-inf"))]
    log.append_decision(kept(Query("q"), "untrained"), documents)
    [record] = read_records(log.path)
    assert [document["score"] for document in record["documents"]] == [None, None]
    assert b"NaN" not in log.path.read_bytes()


@pytest.mark.parametrize("privacy", ["hash", "none"])
def test_words_stay_out_of_the_log(tmp_path: Path, privacy: str) -> None:
    log = DecisionLog(tmp_path / "log.jsonl", log_queries=privacy)  # type: ignore[arg-type]
    for name, text in (("1", "my secret"), ("2", "my secret"), ("3", "other \ud800")):
        append(log, name, text)
    assert b"secret" not in log.path.read_bytes()
    one, same, other = read_records(log.path)
    assert (one["query"] is None) == (privacy == "none")
    assert one["query"] == same["query"] == one["texts"][0]
    assert (one["query"] != other["query"]) == (privacy == "hash")


def test_unknown_privacy_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"log_queries must be .* got 'no'"):
        DecisionLog(tmp_path / "log.jsonl", log_queries="no")  # type: ignore[arg-type]


def test_feedback_is_joined_in_order_of_arrival(log: DecisionLog) -> None:
    log.append_feedback(Feedback("1", 0.0, "early", 1.0))
    append(log, "1")
    append(log, "2")
    log.append_feedback(Feedback("1", 1.0, "click", 3.0, position=2, document_id="d"))
    log.append_feedback(Feedback("nobody", 1.0, "click", 4.0))
    first, second = read_interactions(log.path)
    assert [f.kind for f in first.feedback] == ["early", "click"]
    assert first.feedback[1] == Feedback("1", 1.0, "click", 3.0, 2, "d")
    assert second.feedback == ()


@pytest.mark.parametrize(
    "record",
    [
        {"type": "feedback"},
        {"type": "feedback", "decision_id": "1", "kind": "thumb"},
        {"type": "feedback", "decision_id": "1", "kind": "thumb", "value": None},
        {"type": "feedback", "decision_id": "1", "kind": "thumb", "value": "good"},
        {"type": "feedback", "decision_id": "1", "value": 1.0},
        {"type": "note"},
        {},
    ],
)
def test_feedback_that_says_nothing_is_skipped(
    log: DecisionLog, record: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    append(log, "1")
    with log.path.open("a") as file:
        file.write(json.dumps(record) + "\n")
    [interaction] = read_interactions(log.path)
    assert interaction.feedback == ()
    assert ("feedback record lacks" in caplog.text) == (record.get("type") == "feedback")


def test_no_such_log(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no decision log at"):
        list(read_records(tmp_path / "nowhere.jsonl"))


def test_copies_append_to_the_same_file(log: DecisionLog) -> None:
    copies = [log, copy.deepcopy(log), pickle.loads(pickle.dumps(log))]
    threads = [
        threading.Thread(target=append, args=(each, str(number)))
        for number, each in enumerate(copies)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ids(log)) == ["0", "1", "2"]
