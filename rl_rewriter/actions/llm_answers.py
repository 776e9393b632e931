"""What a language model answered, kept on disk, so that nothing is asked or paid for twice."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

from rl_rewriter.caching.config import CacheConfig
from rl_rewriter.caching.store import ServingCache
from rl_rewriter.errors import InputError
from rl_rewriter.text.digests import digest

MAX_IN_MEMORY = 10_000
"""Answers kept where no file is named."""


class Answers(Protocol):
    """Answers by the name of the model and the whole prompt."""

    def get(self, model: str, prompt: str) -> str | None:
        """The answer as the model gave it; None where it wasn't asked yet."""
        ...

    def put(self, model: str, prompt: str, answer: str) -> None:
        """Keep an answer."""
        ...


class AnswersInMemory:
    """Answers of this process: kept for a day, the least recently used make room for new ones.

    They have a cache of their own: a search, which takes a millisecond, must not push out an answer
    that costs money.

    Args:
        config: Bounds; ``MAX_IN_MEMORY`` answers for a day by default.
    """

    def __init__(self, config: CacheConfig | None = None) -> None:
        self._kept = ServingCache(config or CacheConfig(max_entries=MAX_IN_MEMORY))

    def get(self, model: str, prompt: str) -> str | None:
        """See :class:`Answers`."""
        return self._kept.get(_key(model, prompt))

    def put(self, model: str, prompt: str, answer: str) -> None:
        """See :class:`Answers`."""
        self._kept.put(_key(model, prompt), answer)

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and copy, with the answers: a cache by itself is copied empty."""
        return {"_kept": self._kept, "answers": self._kept.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the answers."""
        self._kept = state["_kept"]
        for key, answer in state["answers"]:
            self._kept.put(key, answer)


class AnswerFile:
    """Answers in an SQLite file, for several threads and processes.

    Args:
        path: Made with its folder where it doesn't exist.

    Raises:
        InputError: The file is no SQLite database.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with closing(self._connect()) as connection, connection:
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer BLOB)"
                )
        except (sqlite3.Error, OSError) as error:
            raise InputError(
                f"{path} cannot be used to keep answers ({error}); delete it or name another file"
            ) from error

    def get(self, model: str, prompt: str) -> str | None:
        """See :class:`Answers`."""
        with closing(self._connect()) as connection:
            found = connection.execute(
                "SELECT answer FROM answers WHERE key = ?", (_key(model, prompt),)
            ).fetchone()
        return None if found is None else bytes(found[0]).decode("utf-8", "surrogatepass")

    def put(self, model: str, prompt: str, answer: str) -> None:
        """See :class:`Answers`."""
        row = (_key(model, prompt), answer.encode("utf-8", "surrogatepass"))
        with closing(self._connect()) as connection, connection:
            connection.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", row)

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=60.0)


def _key(model: str, prompt: str) -> str:
    return digest((model, prompt))
