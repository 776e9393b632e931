"""Append-only JSON lines, safe for several threads and processes."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rl_rewriter.errors import InputError
from rl_rewriter.logs.records import QueryPrivacy, decision_record, feedback_record
from rl_rewriter.types import Feedback, LoggedInteraction, RewriteDecision, ScoredDocument

_logger = logging.getLogger(__name__)


class DecisionLog:
    """Writes decisions and feedback to one file.

    Each record is one ``write`` of one line to a file opened for appending, under a file lock. A
    line that a crash left torn is closed by the next writer, so that it hides no other record.

    Args:
        path: The file; made with its folders where it doesn't exist.
        log_queries: "text" keeps the words, "hash" a digest of them, "none" nothing.

    Raises:
        InputError: ``log_queries`` is none of the three.
    """

    def __init__(self, path: str | Path, *, log_queries: QueryPrivacy = "text") -> None:
        if log_queries not in ("text", "hash", "none"):
            raise InputError(f'log_queries must be "text", "hash" or "none", got {log_queries!r}')
        self.path = Path(path)
        self._log_queries = log_queries
        self._lock = threading.Lock()

    def append_decision(
        self,
        decision: RewriteDecision,
        documents: Sequence[ScoredDocument],
        tags: Mapping[str, Any] | None = None,
    ) -> None:
        """Write one decision with what came back."""
        self._append(decision_record(decision, documents, log_queries=self._log_queries, tags=tags))

    def append_feedback(self, feedback: Feedback) -> None:
        """Write one outcome."""
        self._append(feedback_record(feedback))

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and deepcopy: each copy appends to the same file under its lock."""
        return {**self.__dict__, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    def _append(self, record: Mapping[str, Any]) -> None:
        line = json.dumps(record, ensure_ascii=True, default=str).encode() + b"\n"
        with self._lock:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
                _write_all(handle, (b"\n" if _ends_torn(handle) else b"") + line)
            finally:
                os.close(handle)


def read_records(path: str | Path) -> Iterator[dict[str, Any]]:
    """All whole records of a log in order, in constant memory.

    A line that isn't a JSON object is skipped with a warning that names it.

    Raises:
        InputError: There is no such file.
    """
    try:
        with Path(path).open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                try:
                    record = json.loads(line)
                except (ValueError, RecursionError):
                    record = None
                if isinstance(record, dict):
                    yield record
                else:
                    _logger.warning("%s line %d is no record and was skipped", path, number)
    except FileNotFoundError:
        raise InputError(f"there is no decision log at {path}") from None


def read_interactions(path: str | Path) -> list[LoggedInteraction]:
    """Decisions of a log joined with their feedback, in the order of the decisions.

    Feedback without a decision id, kind or number is skipped with a warning.
    """
    decisions: list[dict[str, Any]] = []
    feedback: dict[str, list[Feedback]] = defaultdict(list)
    for record in read_records(path):
        if record.get("type") == "decision":
            decisions.append(record)
        elif record.get("type") == "feedback":
            outcome = _feedback(record)
            if outcome is not None:
                feedback[outcome.decision_id].append(outcome)
    return [LoggedInteraction(d, tuple(feedback.get(str(d.get("id")), ()))) for d in decisions]


def _feedback(record: Mapping[str, Any]) -> Feedback | None:
    try:
        return Feedback(
            decision_id=str(record["decision_id"]),
            value=float(record["value"]),
            kind=str(record["kind"]),
            time=float(record.get("time") or 0.0),
            position=record.get("position"),
            document_id=record.get("document_id"),
        )
    except (KeyError, TypeError, ValueError) as error:
        _logger.warning("a feedback record lacks a usable %s and was skipped", error)
        return None


def _ends_torn(handle: int) -> bool:
    size = os.fstat(handle).st_size
    return size > 0 and os.pread(handle, 1, size - 1) != b"\n"


def _write_all(handle: int, content: bytes) -> None:
    while content:
        content = content[os.write(handle, content) :]
