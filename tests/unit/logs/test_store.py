"""The decision log: nothing lost, nothing mixed, whatever happens to the process."""

from __future__ import annotations

import copy
import fcntl
import json
import logging
import math
import os
import pickle
import stat
import subprocess
import sys
import threading
import uuid
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rl_rewriter.errors import InputError
from rl_rewriter.logs.config import LogConfig
from rl_rewriter.logs.store import DecisionLog, read_interactions, read_records
from rl_rewriter.policies.decider import kept
from rl_rewriter.types import Feedback, Query, Rewrite, ScoredDocument

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
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        assert ids(log) == ["before", "after", "later"]
    assert "log.jsonl line 2 is no JSON, and was skipped" in caplog.text


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
        "asked": {"history": []},
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
    ("settings", "message"),
    [
        ({"decision_id": ""}, "feedback must name its decision and its kind, got '' and 'thumb'"),
        ({"kind": ""}, "must name its decision and its kind, got '1' and ''"),
        ({"value": float("nan")}, "feedback 1 can't be logged as JSON"),
        ({"time": float("inf")}, "feedback 1 can't be logged as JSON"),
    ],
)
def test_feedback_that_nobody_could_read_is_refused(
    log: DecisionLog, settings: dict[str, object], message: str
) -> None:
    complete = {"decision_id": "1", "value": 1.0, "kind": "thumb", "time": 0.0}
    with pytest.raises(InputError, match=message):
        log.append_feedback(Feedback(**{**complete, **settings}))  # type: ignore[arg-type]
    assert not log.path.exists()


def test_ids_and_numbers_of_other_types_are_written_as_what_they_are(log: DecisionLog) -> None:
    name = uuid.uuid4()
    log.append_feedback(Feedback(name, np.float32(0.5), "thumb", 1.0, np.int64(2)))  # type: ignore[arg-type]
    [record] = read_records(log.path, strict=True)
    assert (record["decision_id"], record["value"], record["position"]) == (str(name), 0.5, 2)


def test_ids_of_128_bits_stay_exact(log: DecisionLog) -> None:
    tags = {"trace_id": 2**127 + 1}
    log.append_decision(kept(Query("q"), "untrained", decision_id="1"), [], tags)
    log.append_feedback(Feedback(str(2**127 + 1), 1.0, "thumb", 0.0))
    [interaction] = read_interactions(log.path)
    assert interaction.decision["tags"] == tags
    assert len(interaction.feedback) == 1


def test_a_decision_of_nan_is_refused_and_nan_in_a_tag_is_null(log: DecisionLog) -> None:
    decision = kept(Query("q"), "untrained", decision_id="1")
    with pytest.raises(InputError, match="decision 1 can't be logged as JSON"):
        log.append_decision(replace(decision, propensity=math.nan), [])
    loop: list[object] = []
    loop.append(loop)
    tags = {"a": math.nan, ("b", 1): [np.inf, np.float32(2)], "loop": loop}
    log.append_decision(decision, [], tags)  # type: ignore[arg-type]
    [record] = read_records(log.path, strict=True)
    assert record["tags"]["a"] is None
    assert record["tags"]["('b', 1)"] == [None, 2.0]


def test_a_record_too_long_to_be_read_is_not_written(log: DecisionLog) -> None:
    with pytest.raises(InputError, match=r'too long for a log, .* log_queries="hash"'):
        append(log, "1", "退" * 2_000_000)
    assert not log.path.exists()
    hashing = DecisionLog(log.path, log_queries="hash")
    append(hashing, "1", "退" * 2_000_000)
    assert ids(hashing) == ["1"]


@pytest.mark.parametrize("privacy", ["hash", "none"])
def test_words_in_tags_stay_out_too(tmp_path: Path, privacy: str) -> None:
    log = DecisionLog(tmp_path / "log.jsonl", config=LogConfig(log_queries=privacy))  # type: ignore[arg-type]
    rewrite = Rewrite(("My Secret", "the hidden meaning"), (0.5, 0.5))
    decision = replace(kept(Query("my secret"), "untrained"), rewrite=rewrite)
    tags = {
        "session_id": "my secret session",
        "trace_id": "MY SECRET",
        "nested": [{"note": "asked for my secret today"}, "the hidden meaning of it", 5],
        "variant": "b",
    }
    log.append_decision(decision, [], tags)
    [record] = read_records(log.path, strict=True)
    assert record["tags"]["session_id"] == "my secret session"
    assert record["tags"]["variant"] == "b"
    assert record["tags"]["nested"][1:] == [record["tags"]["nested"][1], 5]
    text = log.path.read_text().replace("my secret session", "").lower()
    assert "secret" not in text
    assert "hidden" not in text


def test_a_disk_that_is_full_leaves_no_half_record(tmp_path: Path) -> None:
    code = """
import resource, signal, sys
from rl_rewriter.logs.store import DecisionLog
from rl_rewriter.types import Feedback
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
log = DecisionLog(sys.argv[1])
log.append_feedback(Feedback("1", 1.0, "thumb", 0.0))
resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
try:
    log.append_feedback(Feedback("2", 1.0, "thumb", 0.0))
except OSError as error:
    print(error.strerror)
"""
    path = tmp_path / "log.jsonl"
    command = [sys.executable, "-c", code, str(path)]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "File too large\n"
    assert 100 < path.stat().st_size < 200
    assert [r["decision_id"] for r in read_records(path, strict=True)] == ["1"]


def test_a_process_forked_amid_writing_threads_can_write(tmp_path: Path) -> None:
    code = """
import os, sys, threading, warnings
from rl_rewriter.logs.store import DecisionLog
from rl_rewriter.types import Feedback
warnings.simplefilter("ignore")
log, stop = DecisionLog(sys.argv[1]), threading.Event()

def write():
    while not stop.is_set():
        log.append_feedback(Feedback("parent", 1.0, "thumb", 0.0))

threads = [threading.Thread(target=write) for _ in range(4)]
[thread.start() for thread in threads]
children = []
for number in range(20):
    child = os.fork()
    if not child:
        log.append_feedback(Feedback(f"child {number}", 1.0, "thumb", 0.0))
        os._exit(0)
    children.append(child)
[os.waitpid(child, 0) for child in children]
stop.set()
"""
    path = tmp_path / "log.jsonl"
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, timeout=60)
    names = {record["decision_id"] for record in read_records(path, strict=True)}
    assert names == {"parent", *(f"child {number}" for number in range(20))}


@pytest.mark.parametrize(("fsync", "expected"), [("never", 0), ("always", 3), ("interval", 1)])
def test_the_disk_is_waited_for_as_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fsync: str, expected: int
) -> None:
    synced: list[bool] = []
    real = os.fsync

    def watched(handle: int) -> None:
        synced.append(stat.S_ISREG(os.fstat(handle).st_mode))
        real(handle)

    monkeypatch.setattr(os, "fsync", watched)
    log = DecisionLog(
        tmp_path / "log.jsonl",
        config=LogConfig(fsync=fsync, fsync_seconds=3600.0),  # type: ignore[arg-type]
    )
    for name in "abc":
        append(log, name)
    assert synced.count(True) == expected
    assert synced.count(False) == (expected > 0)  # the folder, once the file is new in it


def test_a_writer_that_waited_while_the_file_was_rotated_writes_to_the_new_one(
    log: DecisionLog,
) -> None:
    append(log, "1")
    with log.path.open("rb") as theirs:
        fcntl.flock(theirs, fcntl.LOCK_EX)
        writer = threading.Thread(target=append, args=(log, "2"))
        writer.start()
        writer.join(timeout=0.2)
        assert writer.is_alive()
        log.path.rename(log.path.with_name("rotated, compressed and soon deleted"))
    writer.join(timeout=10)
    assert ids(log) == ["2"]


def test_a_log_that_somebody_deletes_is_begun_anew(log: DecisionLog) -> None:
    append(log, "1")
    log.path.unlink()
    append(log, "2")
    assert ids(log) == ["2"]


def test_settings_travel_with_copies(tmp_path: Path) -> None:
    config = LogConfig(max_bytes=100)
    log = DecisionLog(tmp_path / "log.jsonl", log_queries="hash", config=config)
    for copied in (copy.deepcopy(log), pickle.loads(pickle.dumps(log))):
        assert copied.config == LogConfig(max_bytes=100, log_queries="hash")


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
