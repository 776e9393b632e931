"""The decision log as its writers see it: append, rotate, retain."""

from __future__ import annotations

import logging
import math
import os
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from rl_rewriter.errors import InputError
from rl_rewriter.logs.claim import Claim
from rl_rewriter.logs.config import LogConfig
from rl_rewriter.logs.encoding import from_line, to_line
from rl_rewriter.logs.locked_file import append_line, locked, sync
from rl_rewriter.logs.reader import read_interactions, read_records
from rl_rewriter.logs.records import QueryPrivacy, decision_record, feedback_record
from rl_rewriter.logs.rotation import compress_rotated, prune, rotate, rotated_at
from rl_rewriter.types import Feedback, RewriteDecision, ScoredDocument

__all__ = ["DecisionLog", "read_interactions", "read_records"]

_logger = logging.getLogger(__name__)

_HEAD_BYTES = 256
"""The format begins with type, id and time: enough to know a file by, and its age."""


class DecisionLog:
    """Writes decisions and feedback to one file.

    Each record is one ``write`` of one line to a file opened for appending, under a file lock. A
    line that a crash left torn is closed by the next writer, so that it hides no other record. Once
    ``append_decision`` or ``append_feedback`` has returned, the death of this process loses
    nothing; see ``fsync`` of :class:`rl_rewriter.logs.config.LogConfig` for that of the machine.

    Args:
        path: The file; made with its folders where it doesn't exist.
        log_queries: "text" keeps the words, "hash" a digest of them, "none" nothing; by default
            as ``config`` says.
        config: Privacy, rotation, retention, syncing.

    Raises:
        InputError: A setting is unknown or can't work.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        log_queries: QueryPrivacy | None = None,
        config: LogConfig | None = None,
    ) -> None:
        config = config or LogConfig()
        self.path = Path(path)
        self.config = config if log_queries is None else replace(config, log_queries=log_queries)
        self._lock = threading.Lock()
        self._is_tidy = False
        self._synced = -math.inf
        self._born = (b"", 0.0)
        _LOGS.add(self)

    def append_decision(
        self,
        decision: RewriteDecision,
        documents: Sequence[ScoredDocument],
        tags: Mapping[str, Any] | None = None,
        *,
        claim: Claim | None = None,
    ) -> bool:
        """Write one decision with what came back.

        Args:
            decision: The decision.
            documents: What came back, best first.
            tags: What else to note.
            claim: Lets a waiting caller withdraw the record; a withdrawn one isn't on file.

        Returns:
            Whether it is on file.

        Raises:
            InputError: A number of the decision is NaN or infinite, or the record is too long.
            OSError: The file can't be written; it holds nothing of the record then.
        """
        record = decision_record(
            decision,
            documents,
            log_queries=self.config.log_queries,
            tags=tags,
            with_conversation=self.config.log_conversation,
        )
        return self.append(record, claim=claim)

    def append_feedback(self, feedback: Feedback) -> None:
        """Write one outcome.

        Raises:
            InputError: It names no decision or no kind, or its value is NaN or infinite.
            OSError: The file can't be written; it holds nothing of the record then.
        """
        if not feedback.decision_id or not feedback.kind:
            raise InputError(
                "feedback must name its decision and its kind, got "
                f"{feedback.decision_id!r} and {feedback.kind!r}"
            )
        self.append(feedback_record(feedback))

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and deepcopy: each copy appends to the same file under its lock."""
        return {**self.__dict__, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _synced=-math.inf)  # another machine has another clock
        self._renew_lock()
        _LOGS.add(self)

    def append(self, record: Mapping[str, Any], *, claim: Claim | None = None) -> bool:
        """Write one record of the decision-log format, as it is; whether it is on file."""
        line = to_line(record)
        claim = claim or Claim()
        with self._lock:  # beside the file's own, which some network drives grant to all threads
            if not claim.is_wanted:  # its turn came too late
                return False
            has_rotated = self._write(line, claim)
            is_tidy, self._is_tidy = self._is_tidy and not has_rotated, True
        if self.config.rotates and not is_tidy:
            self._tidy()
        return claim.is_wanted

    def _write(self, line: bytes, claim: Claim) -> bool:
        """Append one line, to a new file where this one is full; whether that was so."""
        has_rotated = False
        while True:
            with locked(self.path) as handle:
                if self._is_full(handle, len(line)):
                    rotate(self.path, time.time())
                    has_rotated = True
                    continue
                if not claim.is_wanted:
                    return has_rotated
                size = os.fstat(handle).st_size
                append_line(handle, line)
                try:
                    self._sync_if_due(handle, is_new=size == 0)
                except OSError:
                    os.ftruncate(handle, size)
                    raise
                if not claim.keep():  # no reader has seen it: the lock is still held
                    os.ftruncate(handle, size)
                return has_rotated

    def _sync_if_due(self, handle: int, *, is_new: bool) -> None:
        if self._is_to_be_synced():
            sync(handle, self.path.parent if is_new else None)
            self._synced = time.monotonic()

    def _is_full(self, handle: int, n_bytes: int) -> bool:
        limit, max_seconds = self.config.max_bytes, self.config.max_seconds
        size = os.fstat(handle).st_size
        if not size:
            return False
        if limit is not None and size + n_bytes > limit:
            return True
        return max_seconds is not None and time.time() - self._birth(handle) > max_seconds

    def _birth(self, handle: int) -> float:
        """When the file was begun: by its first record, but not before the last rotation."""
        head = os.pread(handle, _HEAD_BYTES, 0)
        if head != self._born[0]:
            born = os.fstat(handle).st_mtime
            with suppress(ValueError, RecursionError, TypeError, KeyError, OverflowError):
                line = os.pread(handle, 1 << 20, 0).split(b"\n", 1)[0]
                born = min(born, float(from_line(line)["time"]))
            self._born = (head, max(born, rotated_at(self.path)))
        return self._born[1]

    def _is_to_be_synced(self) -> bool:
        if self.config.fsync == "interval":
            return time.monotonic() - self._synced >= self.config.fsync_seconds
        return self.config.fsync == "always"

    def _tidy(self) -> None:
        """Delete what is kept no longer, and compress what is to be, beside the work."""
        config = self.config
        try:
            prune(self.path, keep=config.keep, keep_days=config.keep_days, now=time.time())
        except OSError as error:
            _logger.warning("old files of %s could not be deleted: %s", self.path, error)
        if config.compress:
            with suppress(RuntimeError):  # the interpreter is about to end: left to the next one
                threading.Thread(target=_compress, args=(self.path,)).start()

    def _renew_lock(self) -> None:
        self._lock = threading.Lock()


def _compress(path: Path) -> None:
    try:
        compress_rotated(path)
    except OSError as error:
        _logger.warning("old files of %s could not be compressed: %s", path, error)


def _renew_locks() -> None:
    """In a forked process: a thread that isn't there any more may have held a lock."""
    for log in list(_LOGS):
        log._renew_lock()


_LOGS: weakref.WeakSet[DecisionLog] = weakref.WeakSet()
os.register_at_fork(after_in_child=_renew_locks)
