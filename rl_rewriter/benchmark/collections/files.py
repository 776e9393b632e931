"""Lines, JSON and tables out of files, and one sentence where a file cannot be read."""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from rl_rewriter.errors import InputError

SHOWN_CHARS = 80
"""Of a line or a value that is wrong no more is shown."""


_MAX_CELL = 2**31 - 1
"""Documents in a table may be longer than what Python's csv lets through by itself."""


class Place(NamedTuple):
    """Where something stands, for messages.

    Attributes:
        path: The file.
        number: Line or item, from 1; 0 for the file as a whole.
        unit: What is counted.
    """

    path: Path
    number: int = 0
    unit: str = "line"

    def __str__(self) -> str:
        """Such as "data/qrels.tsv line 3"."""
        return f"{self.path} {self.unit} {self.number}" if self.number else str(self.path)


def dataset_name(path: Path) -> str:
    """A file's name without its endings, for tables: "faq.v2" of ``faq.v2.jsonl.gz``."""
    return Path(path.name.removesuffix(".gz")).stem


def shown(value: object) -> str:
    """A value for a message, on one line and not too long."""
    text = repr(value)
    return text if len(text) <= SHOWN_CHARS else f"{text[: SHOWN_CHARS - 4]} ..."


def sample(names: Sequence[str], most: int = 8) -> str:
    """Some of many names for a message, on one line and not too long."""
    if not names:
        return "nothing"
    short = [" ".join(name.split())[:SHOWN_CHARS] for name in names[:most]]
    return ", ".join(short) + (" ..." if len(names) > most else "")


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines that aren't blank, with their numbers; files that end in ``.gz`` are unpacked.

    Raises:
        InputError: The file is missing, damaged, or not UTF-8.
    """
    with _opened(path) as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                yield number, line.rstrip("\n")


def read_text(path: Path) -> str:
    """All of a file.

    Raises:
        InputError: The file is missing, damaged, or not UTF-8.
    """
    with _opened(path) as file:
        return file.read()


def read_json_lines(path: Path) -> Iterator[tuple[Place, dict[str, Any]]]:
    """The object of each line.

    Raises:
        InputError: The file or a line cannot be read, or there is no line.
    """
    number = 0
    for number, line in read_lines(path):
        place = Place(path, number)
        yield place, as_object(parse_json(line, place), place)
    if not number:
        raise InputError(f"{path} is empty")


def read_json(path: Path) -> Any:
    """The one JSON value that a file holds.

    Raises:
        InputError: The file cannot be read or is no JSON.
    """
    return parse_json(read_text(path), Place(path))


def parse_json(text: str, place: Place) -> Any:
    """A JSON value.

    Raises:
        InputError: The text is none, or it is nested too deeply; the message names the place.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        where = place if place.number or error.lineno == 1 else Place(place.path, error.lineno)
        raise InputError(f"{where} is no JSON: {error.msg}") from error
    except ValueError as error:  # a number of thousands of digits
        raise InputError(f"{place} is no JSON: {error}") from error
    except RecursionError:
        raise InputError(f"{place} is nested too deeply to be read") from None


def as_object(value: Any, place: Place) -> dict[str, Any]:
    """The value itself where it is a JSON object.

    Raises:
        InputError: It is anything else.
    """
    if not isinstance(value, dict):
        raise InputError(f"{place} is no JSON object")
    return value


def read_table(path: Path) -> Iterator[tuple[Place, list[str]]]:
    """Rows of a CSV or TSV file, the header among them, blank rows left out.

    A name that ends in ``.tsv`` means tabs; other files are read with whichever of comma, semicolon
    and tab is most frequent in the first line. In CSV a quoted cell may hold line ends.

    Raises:
        InputError: The file cannot be read, or its quotes don't match.
    """
    if path.name.removesuffix(".gz").endswith(".tsv"):
        for number, line in read_lines(path):
            yield Place(path, number), [_unquoted(cell) for cell in line.split("\t")]
        return
    with _opened(path, newline="") as file:
        first = file.readline()
        file.seek(0)
        rows = csv.reader(file, delimiter=max(",;\t", key=first.count), strict=True)
        start = 1
        try:
            while (row := _next_row(rows)) is not None:
                if any(cell.strip() for cell in row):
                    yield Place(path, start), row
                start = rows.line_num + 1
        except csv.Error as error:
            raise InputError(f"{path} line {start} is no CSV: {error}") from error


def _next_row(rows: Iterator[list[str]]) -> list[str] | None:
    """The next row with cells of any size; the limit holds for all readers of the process."""
    limit = csv.field_size_limit(_MAX_CELL)
    try:
        return next(rows, None)
    finally:
        csv.field_size_limit(limit)


def _unquoted(cell: str) -> str:
    inner = cell[1:-1].replace('""', "")
    is_quoted = len(cell) > 1 and cell[0] == cell[-1] == '"' and '"' not in inner
    return cell[1:-1].replace('""', '"') if is_quoted else cell


@contextmanager
def _opened(path: Path, newline: str | None = None) -> Iterator[TextIO]:
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        # Spreadsheets begin their files with a byte order mark.
        with opened(path, "rt", encoding="utf-8-sig", newline=newline) as file:
            yield file
    except FileNotFoundError:
        raise InputError(f"{path} is missing") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8: {error.reason}") from error
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be read: {error}") from error
