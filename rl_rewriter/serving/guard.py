"""What all requests of a rewriter share: limits, threads, breakers, counters, listeners."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rl_rewriter.errors import ServingError
from rl_rewriter.serving.breaker import Admission, BreakerConfig, CircuitBreaker
from rl_rewriter.serving.counters import Counters
from rl_rewriter.serving.events import FeedbackListener, Listener, Served
from rl_rewriter.serving.limits import Budget
from rl_rewriter.serving.reasons import FAILURES, PREFIX
from rl_rewriter.serving.warnings import RareWarnings
from rl_rewriter.serving.workers import Workers
from rl_rewriter.types import Feedback


@dataclass(frozen=True, kw_only=True)
class GuardConfig:
    """How our own work is limited and watched.

    Attributes:
        budget: What one request may take.
        breaker: When our own work, or the log, is left alone for a while.
        strict: Raise where something failed, instead of keeping the query.
        listeners: Called with each finished request.
        kill_switch: Keeps every query while it says True, or can't say. Asked at each request in
            the caller's thread: it must be quick.
    """

    budget: Budget
    breaker: BreakerConfig
    strict: bool
    listeners: tuple[Listener, ...]
    kill_switch: Callable[[], bool] | None


class Guard:
    """Lets our own work through, or says why not, and keeps what is known of it.

    Args:
        config: Limits and watchers.
    """

    def __init__(self, config: GuardConfig) -> None:
        self.config = config
        self.workers = Workers()
        self.log_workers = Workers()
        self.listener_workers = Workers()
        # A strict test is to see each failure, not an open circuit after some.
        breaker = BreakerConfig(failures=None) if config.strict else config.breaker
        self.breaker = CircuitBreaker(breaker)
        self.log_breaker = CircuitBreaker(breaker)
        self.counters = Counters()
        self.warnings = RareWarnings()

    def failed(self, name: str, error: BaseException | None) -> None:
        """Warn of a failure that a request survives.

        Args:
            name: One of :data:`rl_rewriter.serving.reasons.FALLBACKS`.
            error: What caused it.

        Raises:
            ServingError: In strict mode, where the name is that of a failure.
        """
        if self.config.strict and name in FAILURES:
            raise ServingError(name) from error
        self.warnings.warn(f"query kept ({PREFIX}{name})", error)

    @property
    def is_killed(self) -> bool:
        """Whether the kill switch is on."""
        switch = self.config.kill_switch
        if switch is None:
            return False
        try:
            return bool(switch())
        except Exception as error:
            self.warnings.warn("the kill switch could not be read, and counts as on", error)
            return True

    def admitted(self) -> tuple[str, Admission]:
        """Why our work is not to be done now, "" where it is; and how the breaker was passed."""
        if self.is_killed:
            return "kill_switch", Admission.REFUSED
        admission = self.breaker.admit()
        return "circuit_open" if admission is Admission.REFUSED else "", admission

    def tell(self, served: Served, listeners: Sequence[Listener]) -> None:
        """Call listeners; their errors are counted and warned of."""
        for listener in listeners:
            try:
                listener(served)
            except Exception as error:
                self.listener_failed(error)

    def tell_feedback(self, feedback: Feedback) -> None:
        """Tell an outcome to those listeners that want to know, as :meth:`tell` does."""
        for listener in self.config.listeners:
            try:
                if isinstance(listener, FeedbackListener):
                    listener.on_feedback(feedback)
            except Exception as error:
                self.listener_failed(error)

    def listener_failed(self, error: Exception) -> None:
        """Count and warn of a listener's error."""
        self.counters.happened("listener_error")
        self.warnings.warn("a listener failed", error)

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and deepcopy: a copy begins with closed breakers and counts of its own."""
        return {"config": self.config}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["config"])  # type: ignore[misc]  # it is this class's own
