"""JSON objects of a run's folder, read so that an error names the place of what is wrong."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rl_rewriter.errors import InputError

Interval = tuple[float, float]


@dataclass(frozen=True)
class Fields:
    """One JSON object; every method gives None, or nothing, for a key that is absent or null.

    Attributes:
        values: The object.
        file: The file that it is from, and the line where that is more than one object.
        path: The keys that lead to it.
    """

    values: Mapping[str, Any]
    file: str
    path: str = ""

    def number(self, key: str) -> float | None:
        """A finite number."""
        value = self.values.get(key)
        return None if value is None else self._number(key, value)

    def count(self, key: str) -> int | None:
        """A whole number that isn't negative."""
        value = self.number(key)
        if value is None:
            return None
        if value < 0 or value != int(value):
            raise self._wrong(key, "a whole number >= 0", self.values[key])
        return int(value)

    def flag(self, key: str) -> bool:
        """True or false; false where absent."""
        value = self.values.get(key)
        if value is not None and not isinstance(value, bool):
            raise self._wrong(key, "true or false", value)
        return bool(value)

    def text(self, key: str) -> str | None:
        """A string."""
        value = self.values.get(key)
        if value is not None and not isinstance(value, str):
            raise self._wrong(key, "a string", value)
        return value

    def needed_text(self, key: str) -> str:
        """A string that nothing can be said without.

        Raises:
            InputError: It is absent.
        """
        value = self.text(key)
        if not value:
            raise InputError(f"{self.file}: {self._path(key)} must be there and not be empty")
        return value

    def child(self, key: str) -> Fields | None:
        """An object."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self._wrong(key, "an object", value)
        return Fields(value, self.file, self._path(key))

    def children(self, key: str) -> Iterator[Fields]:
        """The objects of a list."""
        for number, value in enumerate(self._list(key)):
            if not isinstance(value, dict):
                raise self._wrong(f"{key}[{number}]", "an object", value)
            yield Fields(value, self.file, self._path(f"{key}[{number}]"))

    def named(self, key: str) -> Iterator[tuple[str, Fields]]:
        """The objects of an object, with their names."""
        found = self.child(key)
        for name in found.values if found else ():
            inner = found.child(name) if found else None
            if inner is not None:
                yield name, inner

    def numbers(self, key: str) -> dict[str, float]:
        """An object of numbers; what is null in it is left out."""
        found = self.child(key)
        if found is None:
            return {}
        return {k: found._number(k, v) for k, v in found.values.items() if v is not None}

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings."""
        for number, value in enumerate(self._list(key)):
            if not isinstance(value, str):
                raise self._wrong(f"{key}[{number}]", "a string", value)
        return tuple(self._list(key))

    def number_list(self, key: str) -> tuple[float, ...]:
        """A list of numbers."""
        return tuple(self._number(f"{key}[{i}]", v) for i, v in enumerate(self._list(key)))

    def interval(self, key: str) -> Interval | None:
        """A pair of numbers, the lower first."""
        if self.values.get(key) is None:
            return None
        ends = self.number_list(key)
        if len(ends) != 2 or ends[0] > ends[1]:
            raise self._wrong(key, "[low, high]", self.values[key])
        return ends[0], ends[1]

    def _list(self, key: str) -> list[Any]:
        value = self.values.get(key)
        if value is not None and not isinstance(value, list):
            raise self._wrong(key, "a list", value)
        return value or []

    def _number(self, key: str, value: Any) -> float:
        if isinstance(value, int | float) and not isinstance(value, bool):
            try:
                if math.isfinite(value):
                    return float(value)
            except OverflowError:
                pass
        raise self._wrong(key, "a finite number", value)

    def _path(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def _wrong(self, key: str, wanted: str, value: Any) -> InputError:
        return InputError(f"{self.file}: {self._path(key)} must be {wanted}, got {_shown(value)}")


def read_object(path: Path) -> Fields | None:
    """The JSON object that a file holds; None where there is no file.

    Raises:
        InputError: It holds something else.
    """
    content = _read(path)
    return None if content is None else _parse(content, str(path))


def read_lines(path: Path) -> Iterator[Fields]:
    """The JSON objects of a file with one a line; empty lines are skipped.

    Raises:
        InputError: A line is something else; the text names it.
    """
    for number, line in enumerate((_read(path) or b"").split(b"\n"), start=1):
        if line.strip():
            yield _parse(line, f"{path} line {number}")


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error


def _parse(content: bytes, where: str) -> Fields:
    try:
        value = json.loads(content.decode("utf-8"))
    except json.JSONDecodeError as error:
        place = where if " line " in where else f"{where} line {error.lineno}"
        raise InputError(f"{place} is no JSON: {error.msg} (column {error.colno})") from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"{where} is no UTF-8 text: {error.reason} at byte {error.start}"
        ) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} cannot be read as JSON: {error}") from None
    if not isinstance(value, dict):
        raise InputError(f"{where} must be a JSON object, got {_shown(value)}")
    return Fields(value, where)


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # numbers of thousands of digits, endless nesting
        text = type(value).__name__
    return text if len(text) <= 60 else f"{text[:57]}..."
