"""How a decision log is written and how long it is kept."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from rl_rewriter.errors import InputError
from rl_rewriter.logs.records import QueryPrivacy

Fsync = Literal["never", "interval", "always"]
SECONDS_A_DAY = 86_400.0


@dataclass(frozen=True, kw_only=True)
class LogConfig:
    """Settings of a :class:`rl_rewriter.logs.store.DecisionLog`.

    A log that grows is rotated: the file is renamed, and a new one begun under the old name. All
    processes that write to one log should have the same settings.

    Attributes:
        log_queries: "text" keeps the words of queries and rewrites, "hash" a digest of them, "none"
            nothing. A digest still tells equal queries, and who guesses a query can check it.
        log_conversation: Whether the conversation and the filters are kept beside a query whose
            words are: learning a blend from the log searches the queries again as they were asked.
        max_bytes: Rotate before the file grows past this; None lets it grow.
        compress: Compress rotated files with gzip, beside the work.
        keep: How many rotated files are kept; None keeps all.
        keep_days: Delete what is older; the file is then rotated at least once a day, so that
            nothing is older than that by more than a day.
        fsync: When the disk must have what was appended. A record survives the death of the process
            as soon as ``append`` returns; a power failure it survives once it is on the disk:
            "always" before ``append`` returns, "interval" at the first append after
            ``fsync_seconds``, "never" when the system sees fit.
        fsync_seconds: Time between two of them under "interval".
    """

    log_queries: QueryPrivacy = "text"
    log_conversation: bool = True
    max_bytes: int | None = None
    compress: bool = False
    keep: int | None = None
    keep_days: float | None = None
    fsync: Fsync = "never"
    fsync_seconds: float = 1.0

    def __post_init__(self) -> None:
        """Refuse settings that cannot work, alone or together."""
        if self.log_queries not in get_args(QueryPrivacy):
            raise InputError(
                f'log_queries must be "text", "hash" or "none", got {self.log_queries!r}'
            )
        if self.fsync not in get_args(Fsync):
            raise InputError(f'fsync must be "never", "interval" or "always", got {self.fsync!r}')
        if self.max_bytes is not None and self.max_bytes < 1:
            raise InputError(f"max_bytes must be at least 1, got {self.max_bytes}")
        if self.keep is not None and self.keep < 0:
            raise InputError(f"keep must not be negative, got {self.keep}")
        if self.keep_days is not None and not 0.0 < self.keep_days < math.inf:
            raise InputError(f"keep_days must be a positive number, got {self.keep_days}")
        if not 0.0 <= self.fsync_seconds < math.inf:
            raise InputError(f"fsync_seconds must be a number >= 0, got {self.fsync_seconds}")
        if (self.compress or self.keep is not None) and not self.rotates:
            raise InputError(
                "compress and keep are about rotated files: give max_bytes or keep_days as well"
            )

    @property
    def rotates(self) -> bool:
        """Whether the file is ever rotated."""
        return self.max_bytes is not None or self.keep_days is not None

    @property
    def max_seconds(self) -> float | None:
        """Age of its first record at which the file is rotated; None for never."""
        if self.keep_days is None:
            return None
        return min(1.0, self.keep_days) * SECONDS_A_DAY
