"""Stops asking for what keeps failing, and tries it again with one request after a while."""

from __future__ import annotations

import enum
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from rl_rewriter.errors import InputError
from rl_rewriter.forks import renewed_after_fork


@dataclass(frozen=True, kw_only=True)
class BreakerConfig:
    """When a circuit opens, and for how long.

    Attributes:
        failures: So many in a row open it; None for never.
        seconds: How long it stays open before one request tries again.
    """

    failures: int | None = 5
    seconds: float = 30.0

    def __post_init__(self) -> None:
        """Refuse settings that mean nothing."""
        if self.failures is not None and self.failures < 1:
            raise InputError(f"failures must be at least 1, or None, got {self.failures}")
        if not self.seconds > 0:
            raise InputError(f"seconds must be above 0, got {self.seconds}")


class Admission(enum.Enum):
    """How a request passes the breaker."""

    CLOSED = enum.auto()
    """The circuit is closed: all pass."""
    PROBE = enum.auto()
    """The circuit was open for its time: this one tries whether it may be closed."""
    REFUSED = enum.auto()
    """The circuit is open."""


class CircuitBreaker:
    """Closed until enough failures come in a row; then open; then half open for one probe.

    A probe of which nothing is heard for as long as the circuit stays open is given up.

    Args:
        config: When it opens, and for how long.
        clock: Seconds that only grow.
    """

    def __init__(
        self, config: BreakerConfig | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.config = config or BreakerConfig()
        self._clock = clock
        self._failures = 0
        self._opened: float | None = None
        self._probed: float | None = None
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """A lock that nobody holds."""
        self._lock = threading.Lock()

    @property
    def is_open(self) -> bool:
        """Whether requests are refused, but for a probe."""
        return self._opened is not None

    def admit(self) -> Admission:
        """Whether a request may try; who is admitted must :meth:`report`."""
        if self._opened is None:
            return Admission.CLOSED
        with self._lock:
            if self._opened is None:
                return Admission.CLOSED
            now, pause = self._clock(), self.config.seconds
            if now - self._opened < pause:
                return Admission.REFUSED
            if self._probed is not None and now - self._probed < pause:
                return Admission.REFUSED
            self._probed = now
            return Admission.PROBE

    def report(self, admission: Admission, ok: bool | None) -> None:
        """What became of an admitted request; None where it never came to what may fail."""
        is_probe = admission is Admission.PROBE
        if admission is Admission.REFUSED or (ok and not is_probe and not self._failures):
            return
        with self._lock:
            if is_probe:
                self._probed = None
            if ok:
                self._failures = 0
                self._opened = None if is_probe else self._opened
            elif ok is not None:
                self._failures += 1
                most = self.config.failures
                if is_probe or (
                    self._opened is None and most is not None and self._failures >= most
                ):
                    self._opened = self._clock()
