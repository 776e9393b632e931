"""What a language model answered, kept on disk, so that nothing is asked or paid for twice."""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from contextlib import closing
from pathlib import Path
from typing import Protocol

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
    """Answers of this process; the oldest make room for new ones."""

    def __init__(self) -> None:
        self._answers: OrderedDict[str, str] = OrderedDict()

    def get(self, model: str, prompt: str) -> str | None:
        """See :class:`Answers`."""
        return self._answers.get(_key(model, prompt))

    def put(self, model: str, prompt: str, answer: str) -> None:
        """See :class:`Answers`."""
        self._answers[_key(model, prompt)] = answer
        if len(self._answers) > MAX_IN_MEMORY:
            self._answers.popitem(last=False)


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
