"""Whether a record is still wanted: its writer and who waits for it agree on one answer."""

from __future__ import annotations

import threading


class Claim:
    """Settled once: by the writer, when the record stands, or by who waits no longer."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stands: bool | None = None

    @property
    def is_wanted(self) -> bool:
        """Whether the record is worth writing."""
        return self._stands is not False

    def keep(self) -> bool:
        """The record is on file; False where nobody wants it any more: it is to be taken back."""
        return self._settled(True)

    def withdraw(self) -> bool:
        """Nobody waits any more; False where the record is on file already."""
        return not self._settled(False)

    def _settled(self, stands: bool) -> bool:
        with self._lock:
            if self._stands is None:
                self._stands = stands
            return self._stands
