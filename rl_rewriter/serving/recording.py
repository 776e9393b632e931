"""One request and the decision log: written in time, or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rl_rewriter.errors import ServingError
from rl_rewriter.logs.claim import Claim
from rl_rewriter.logs.store import DecisionLog
from rl_rewriter.serving.breaker import Admission
from rl_rewriter.serving.guard import Guard
from rl_rewriter.types import RewriteDecision, ScoredDocument


@dataclass(frozen=True)
class Writing:
    """A record on its way to the log.

    Attributes:
        log: The log.
        decision: The decision.
        documents: What came back.
        tags: What else to note.
        claim: Settles whether it is on file.
    """

    log: DecisionLog
    decision: RewriteDecision
    documents: Sequence[ScoredDocument]
    tags: Mapping[str, Any]
    claim: Claim = field(default_factory=Claim)

    def write(self) -> None:
        """Append it, unless it is withdrawn before that is done."""
        self.log.append_decision(self.decision, self.documents, self.tags, claim=self.claim)


class Recorder:
    """Asks the log's breaker for one request, and tells it what came of the writing.

    Args:
        guard: What all requests share.
        log: Where decisions are written; None for nowhere.
    """

    def __init__(self, guard: Guard, log: DecisionLog | None) -> None:
        self._guard = guard
        self._log = log
        self._admission = Admission.REFUSED if log is None else guard.log_breaker.admit()

    @property
    def is_there(self) -> bool:
        """Whether there is a log."""
        return self._log is not None

    @property
    def is_refused(self) -> bool:
        """Whether the log is left alone, since it kept failing."""
        return self._log is not None and self._admission is Admission.REFUSED

    def writing(
        self,
        decision: RewriteDecision,
        documents: Sequence[ScoredDocument],
        tags: Mapping[str, Any],
    ) -> Writing | None:
        """The record that is to be written; None where nothing is."""
        if self._log is None or self._admission is Admission.REFUSED:
            return None
        return Writing(self._log, decision, documents, tags)

    def settled(self, writing: Writing, error: Exception | None = None) -> bool:
        """Whether the record is on file, however its writing ended; from now on that stays so.

        Raises:
            ServingError: In strict mode, where it isn't.
        """
        if not writing.claim.withdraw():
            self._guard.log_breaker.report(self._admission, True)
            self._admission = Admission.CLOSED
            return True
        self._guard.log_breaker.report(self._admission, False)
        self._admission = Admission.REFUSED
        self._guard.counters.happened("log_error")
        if self._guard.config.strict:
            raise ServingError("log_write") from error
        self._guard.warnings.warn(
            "query kept (fallback:log_write), the decision was not logged", error
        )
        return False

    def leave(self) -> None:
        """The request is over; where it was to try the log and wrote nothing, another one may."""
        if self._admission is Admission.PROBE:
            self._guard.log_breaker.report(self._admission, None)
            self._admission = Admission.REFUSED
