"""One request on its way: what it may still take, who decides it, what came of it."""

from __future__ import annotations

import asyncio
import dataclasses
import uuid
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from types import TracebackType
from typing import Any, TypeVar

from rl_rewriter.errors import ServingError
from rl_rewriter.logs.store import DecisionLog
from rl_rewriter.policies.decider import Plan, kept
from rl_rewriter.policies.spending import Meter, OverBudgetError
from rl_rewriter.serving.breaker import Admission
from rl_rewriter.serving.events import Served
from rl_rewriter.serving.guard import Guard
from rl_rewriter.serving.limits import Deadline
from rl_rewriter.serving.origin import Origin
from rl_rewriter.serving.policies import Chosen, PolicyInUse
from rl_rewriter.serving.reasons import (
    BREAKS_CIRCUIT,
    DECIDED,
    FAILURES,
    FALLBACKS,
    PREFIX,
    SHADOW,
    UNTRAINED,
    failure_of,
)
from rl_rewriter.serving.recording import Recorder
from rl_rewriter.serving.workers import ExitedError, LateError, OverloadedError
from rl_rewriter.types import Query, RewriteDecision, ScoredDocument

T = TypeVar("T")

_WORKED = (*DECIDED, SHADOW)


class Ticket:
    """Goes with one request through all that is ours; a block of ``with`` is its life.

    Args:
        guard: What all requests share.
        policies: Who decides.
        log: Where the decision is written; None for nowhere.
        origin: Where the request comes from.
    """

    def __init__(
        self, guard: Guard, policies: PolicyInUse, log: DecisionLog | None, origin: Origin
    ) -> None:
        self.guard = guard
        self.origin = origin
        self.meter = Meter(guard.config.budget.caps)
        self._policies = policies
        self._log = Recorder(guard, log)
        self._deadline = Deadline(guard.config.budget.seconds)
        self._chosen: Chosen | None = None
        self._failure = ""
        self._is_finished = False
        self._admission = Admission.REFUSED
        self.problem = self._admitted()
        if guard.config.strict and self.problem in FAILURES:
            raise ServingError(self.problem)

    @property
    def chosen(self) -> Chosen:
        """Who decides; asked once, so that a swap meanwhile changes nothing."""
        if self._chosen is None:
            session = self.origin.session or uuid.uuid4().hex
            self._chosen = self._policies.chosen(session)
        return self._chosen

    def within(self, work: Callable[[], T], otherwise: Callable[[str], T]) -> T:
        """Do our own work in time.

        Args:
            work: What to do, in a thread of ours.
            otherwise: What to do instead, given the name of a reason, where the work isn't
                admitted, fails, or isn't done in time.

        Raises:
            ServingError: In strict mode, instead.
        """
        if self.problem:
            return otherwise(self.problem)
        try:
            with self._deadline:
                left = self._deadline.remaining
                return work() if left is None else self.guard.workers.within(work, left)
        except Exception as error:
            return otherwise(self._failed(error))

    async def awaited(self, work: Callable[[], T], otherwise: Callable[[str], T]) -> T:
        """As :meth:`within`, without blocking the event loop."""
        if self.problem:
            return otherwise(self.problem)
        try:
            with self._deadline:
                return await self.guard.workers.awaited(work, self._deadline.remaining)
        except Exception as error:
            return otherwise(self._failed(error))

    async def waited(self, awaitable: Awaitable[T]) -> T:
        """What comes of something that is awaited rather than done in a thread, in time.

        Raises:
            LateError: It doesn't come in time, and is cancelled.
            ExitedError: It was cancelled by something else.
            Exception: Whatever it raises.
        """
        with self._deadline:
            waiting = asyncio.ensure_future(awaitable)
            waiting.add_done_callback(_looked_at)
            try:
                done, _ = await asyncio.wait([waiting], timeout=self._deadline.remaining)
            finally:
                waiting.cancel()  # does nothing to what is done
            if not done:
                raise LateError
            if waiting.cancelled():  # by itself: the request is not
                raise ExitedError("CancelledError")
            return waiting.result()

    def note(self, name: str, error: BaseException | None) -> None:
        """Something of ours failed, and the query is kept for it.

        Raises:
            ServingError: In strict mode.
        """
        self._failure = self._failure or name
        self.guard.failed(name, error)

    def refuse(self, name: str, error: BaseException) -> None:
        """Something of ours failed before there was anything to decide.

        Raises:
            ServingError: In strict mode.
        """
        if not self.problem:
            self.note(name, error)
            self.problem = name

    def noted(self, plan: Plan) -> Plan:
        """A plan as it is, once its failure is noted where it holds one."""
        name = failure_of(plan.decision.reason)
        if name:
            self.note(name, plan.error)
        return plan

    def keep(self, query: Query, name: str, decision_id: str | None = None) -> RewriteDecision:
        """The decision to leave the query alone.

        Args:
            query: The query.
            name: Why: one of :data:`rl_rewriter.serving.reasons.FALLBACKS`, or a whole reason.
            decision_id: Name of the decision; a random one by default.
        """
        reason = f"{PREFIX}{name}" if name in FALLBACKS else name
        chosen = self._chosen  # late work may choose meanwhile
        version = self._policies.version if chosen is None else chosen.version
        made = kept(query, reason, decision_id=decision_id, version=version)
        return dataclasses.replace(made, tags=chosen.tags) if chosen and chosen.tags else made

    def served(self, plan: Plan) -> Plan:
        """A policy's plan with its tags; keep in its place where it is a shadow's."""
        decision = self.chosen.served(plan.decision)
        return plan if decision is plan.decision else dataclasses.replace(plan, decision=decision)

    def record(self, decision: RewriteDecision, documents: Sequence[ScoredDocument]) -> bool:
        """Write the decision with its documents; False where there is a log, and it isn't there.

        Raises:
            ServingError: In strict mode, instead.
        """
        writing = self._log.writing(decision, documents, self._tags(decision))
        if writing is None:
            return not self._log.is_there
        try:
            with self._deadline:
                left = self._deadline.with_grace
                if left is None:
                    writing.write()
                else:
                    self.guard.log_workers.within(writing.write, left)
        except Exception as error:
            return self._log.settled(writing, error)
        except BaseException:
            writing.claim.withdraw()
            raise
        return self._log.settled(writing)

    async def arecord(self, decision: RewriteDecision, documents: Sequence[ScoredDocument]) -> bool:
        """As :meth:`record`, without blocking the event loop."""
        writing = self._log.writing(decision, documents, self._tags(decision))
        if writing is None:
            return not self._log.is_there
        try:
            with self._deadline:
                await self.guard.log_workers.awaited(writing.write, self._deadline.with_grace)
        except Exception as error:
            return self._log.settled(writing, error)
        except BaseException:
            writing.claim.withdraw()
            raise
        return self._log.settled(writing)

    def unlogged(self, decision: RewriteDecision) -> RewriteDecision:
        """What a decision becomes that isn't on file: keep; an earlier failure stays the reason."""
        if decision.reason.startswith(PREFIX):
            return decision
        made = kept(
            decision.query,
            f"{PREFIX}log_write",
            decision_id=decision.id,
            version=decision.policy_version,
        )
        return dataclasses.replace(made, tags=decision.tags)

    def finish(self, decision: RewriteDecision, documents: Sequence[ScoredDocument] | None) -> None:
        """Count the request, and tell it to listeners.

        Args:
            decision: What was decided in the end.
            documents: What is handed over; None where that is a text.
        """
        served, listeners = self._over(decision, documents), self.guard.config.listeners
        if not listeners:
            return
        tell = partial(self.guard.tell, served, listeners)
        left = self._deadline.with_grace
        try:
            tell() if left is None else self.guard.listener_workers.within(tell, left)
        except (LateError, OverloadedError, ExitedError) as error:
            self._untold(error)

    async def afinish(
        self, decision: RewriteDecision, documents: Sequence[ScoredDocument] | None
    ) -> None:
        """As :meth:`finish`, without blocking the event loop."""
        served, listeners = self._over(decision, documents), self.guard.config.listeners
        if not listeners:
            return
        tell = partial(self.guard.tell, served, listeners)
        try:
            await self.guard.listener_workers.awaited(tell, self._deadline.with_grace)
        except (LateError, OverloadedError, ExitedError) as error:
            self._untold(error)

    def untagged(self, error: Exception) -> None:
        """Documents couldn't be marked with the decision, and are handed over as they are."""
        self.guard.counters.happened("untagged")
        self.guard.warnings.warn("documents could not be tagged", error)

    def __enter__(self) -> Ticket:
        """The request begins."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Where there is no decision to tell of, let nothing wait for this request."""
        if self._is_finished:
            return
        self.guard.breaker.report(self._admission, False if self._broke_circuit else None)
        self._log.leave()
        if error is not None:
            self.guard.counters.happened("passed_through")

    def _admitted(self) -> str:
        """Why the query is kept from the start; "" where it is to be decided."""
        if self._log.is_refused:
            return "log_write"
        if self._policies.is_missing:
            return "no_policy"
        if not self._policies.is_any:
            return UNTRAINED
        name, self._admission = self.guard.admitted()
        return name

    @property
    def _broke_circuit(self) -> bool:
        return self._failure in BREAKS_CIRCUIT

    def _failed(self, error: Exception) -> str:
        if isinstance(error, ServingError):  # raised within the work, in strict mode
            raise error
        if isinstance(error, OverBudgetError):
            self.meter.not_served()
            return error.reason
        self.meter.not_served()
        late = {LateError: "timeout", OverloadedError: "overloaded"}
        name = late.get(type(error), "adapter")
        self.note(name, error)
        return name

    def _tags(self, decision: RewriteDecision) -> dict[str, Any]:
        return {**self.origin.tags, **decision.tags}

    def _over(
        self, decision: RewriteDecision, documents: Sequence[ScoredDocument] | None
    ) -> Served:
        self._is_finished = True
        worked = True if decision.reason in _WORKED else None
        self.guard.breaker.report(self._admission, False if self._broke_circuit else worked)
        self._log.leave()
        served = Served(
            decision=decision,
            n_documents=None if documents is None else len(documents),
            searches=self.meter.searches,
            llm_calls=self.meter.llm_calls,
            seconds=self._deadline.spent,
            adapter=self.origin.adapter,
            tags=self._tags(decision),
            documents=documents,
        )
        self.guard.counters.finished(served)
        return served

    def _untold(self, error: Exception) -> None:
        if isinstance(error, ExitedError):
            self.guard.listener_failed(error)
            return
        self.guard.counters.happened("listener_late")
        self.guard.warnings.warn("a listener was late", error)


def _looked_at(future: asyncio.Future[Any]) -> None:
    """Look at the error of what came too late: asyncio would log it, words of the query and all."""
    if not future.cancelled():
        future.exception()
