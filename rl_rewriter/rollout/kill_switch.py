"""One file or one environment variable that keeps every query, without a deployment."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

VARIABLE = "RL_REWRITER_OFF"
REASON = "kill_switch"
"""What the decision says: "fallback:kill_switch"."""

_RELEASED = frozenset({"", "0", "false", "no", "off"})
_logger = logging.getLogger(__name__)


class KillSwitch:
    """Looks at every request whether rewriting is switched off.

    It fails safe. Where the file can't be told to be absent (no permission, its folder gone, the
    disk failing) it counts as there; so does any value of the variable that isn't "", "0",
    "false", "no" or "off".

    Args:
        path: The file whose existence switches off; a broken link exists too. None: the variable
            alone does.
        variable: Name of the environment variable.
        check_seconds: How old the answer about the file may be. The variable is read every time.
        clock: Seconds of any beginning that never go back.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        variable: str = VARIABLE,
        check_seconds: float = 0.5,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.path = None if path is None else Path(path)
        self.variable = variable
        self.check_seconds = check_seconds
        self._clock = clock
        # One tuple, so that threads never see an answer beside the time of another one.
        self._seen: tuple[float, str] = (-float("inf"), "")

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and deepcopy: a copy looks for itself; another machine has another clock."""
        return {**self.__dict__, "_seen": (-float("inf"), "")}

    def engaged(self) -> bool:
        """Whether every query must be kept."""
        return bool(self.why())

    def why(self) -> str:
        """What switched off, in words; "" where nothing did."""
        value = os.environ.get(self.variable, "").strip()
        if value.lower() not in _RELEASED:
            return f"{self.variable} is set"
        if self.path is None:
            return ""
        now = self._clock()
        looked, found = self._seen
        if now - looked >= self.check_seconds:
            before, found = found, _why_file(self.path)
            self._seen = (now, found)
            if found != before:
                _logger.warning("kill switch %s", f"engaged: {found}" if found else "released")
        return found


def _why_file(path: Path) -> str:
    try:
        os.lstat(path)
    except FileNotFoundError:
        return "" if path.parent.is_dir() else f"{path.parent} is gone"
    except (OSError, ValueError) as error:
        return f"{path} can't be looked at: {error}"
    return f"{path} exists"
