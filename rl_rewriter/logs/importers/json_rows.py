"""Objects of a JSON file as it is read: one a line, elements of an array, or one document."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping
from typing import IO, Any

from rl_rewriter.logs.encoding import from_line
from rl_rewriter.logs.importers.json_array import array_elements
from rl_rewriter.untrusted import is_too_much_json

JsonRow = tuple[int, Mapping[str, Any] | None, str]
"""Line from 1, the object, and what is wrong with it."""

_CHUNK_BYTES = 1 << 20
_BOM = b"\xef\xbb\xbf"
_LISTS = ("data", "runs", "spans", "traces", "observations", "scores", "feedback", "annotations")
_STREAMED = (*_LISTS, "resourceSpans", "resource_spans", "resourceLogs", "resource_logs")
_WRAPPED = re.compile(rf'\s*\{{\s*"(?:{"|".join(_STREAMED)})"\s*:\s*\['.encode())
_LINE_OF_ITS_OWN = re.compile(rb"^\{", re.MULTILINE)


def json_rows(file: IO[bytes], max_row_bytes: int) -> Iterator[JsonRow]:
    """The objects of a file in order, in memory for one of them.

    A line that is no object is given with the problem, and the ones after it are read; an array or
    a document that is damaged is read up to there.

    Args:
        file: The content, from its start.
        max_row_bytes: A longer object is a problem.
    """
    line, first = _first_line(file, max_row_bytes)
    if first.lstrip().startswith(b"["):
        yield from array_elements(first.decode(errors="replace"), file, line, max_row_bytes)
    elif _object(first)[0] is None and first.lstrip().startswith(b"{"):
        yield from _document(first, file, line, max_row_bytes)
    else:
        yield from _lines(first, file, line, max_row_bytes)


def unwrapped(value: Mapping[str, Any]) -> Iterator[Mapping[str, Any] | None]:
    """The objects of an API's answer, such as ``{"data": [...], "meta": {...}}``; else the object.

    None stands for an element that is no object.
    """
    if "id" not in value and "name" not in value:
        for key in _LISTS:
            if isinstance(elements := value.get(key), list):
                yield from (element if isinstance(element, dict) else None for element in elements)
                return
    yield value


def _first_line(file: IO[bytes], max_row_bytes: int) -> tuple[int, bytes]:
    number = 1
    content = file.readline(max_row_bytes + 1).removeprefix(_BOM)
    while content and content.isspace():
        content = file.readline(max_row_bytes + 1)
        number += 1
    return number, content


def _document(first: bytes, file: IO[bytes], line: int, max_row_bytes: int) -> Iterator[JsonRow]:
    """Objects of a file whose first line opens an object that doesn't end there."""
    start = first + (file.readline(max_row_bytes + 1) if len(first) <= max_row_bytes else b"")
    if wrapped := _WRAPPED.match(start):
        head, rest = start[: wrapped.end() - 1], start[wrapped.end() - 1 :]
        line += head.count(b"\n")
        yield from array_elements(rest.decode(errors="replace"), file, line, max_row_bytes)
        return
    is_lines = len(_LINE_OF_ITS_OWN.findall(start)) > 1
    content = start if is_lines else start + file.read(max(0, max_row_bytes + 1 - len(start)))
    if not is_lines:
        value, problem = _object(content)
        is_lines = value is None and len(_LINE_OF_ITS_OWN.findall(content)) > 1
    if is_lines:
        yield from _lines_of_both(content, file, line, max_row_bytes)
    elif value is None:
        too_long = f"is one JSON object of more than {max_row_bytes:,} bytes; export JSON lines"
        yield line, None, too_long if len(content) > max_row_bytes else problem
    else:
        yield from _elements(value, line)


def _lines_of_both(
    content: bytes, file: IO[bytes], line: int, max_row_bytes: int
) -> Iterator[JsonRow]:
    """Lines of what was read already, then of the rest of the file."""
    if not content.endswith(b"\n"):
        content += file.readline(max_row_bytes + 1)
    begun = io.BytesIO(content)
    yield from _lines(begun.readline(max_row_bytes + 1), begun, line, max_row_bytes)
    line += content.count(b"\n")
    yield from _lines(file.readline(max_row_bytes + 1), file, line, max_row_bytes)


def _lines(first: bytes, file: IO[bytes], line: int, max_row_bytes: int) -> Iterator[JsonRow]:
    content = first
    while content:
        if len(content) > max_row_bytes:
            yield line, None, f"is longer than {max_row_bytes:,} bytes"
            while content and not content.endswith(b"\n"):
                content = file.readline(_CHUNK_BYTES)
        elif not content.isspace():
            value, problem = _object(content)
            if value is None:
                yield line, None, problem
            else:
                yield from _elements(value, line)
        line += 1
        content = file.readline(max_row_bytes + 1)


def _elements(value: Mapping[str, Any], line: int) -> Iterator[JsonRow]:
    for element in unwrapped(value):
        yield line, element, "" if element is not None else "is no JSON object"


def _object(content: bytes) -> tuple[dict[str, Any] | None, str]:
    if is_too_much_json(content):
        return None, "holds more values than any row of an export"
    try:
        value = from_line(content)
    except RecursionError:
        return None, "is nested too deeply"
    except UnicodeDecodeError:
        return None, "isn't UTF-8 text"
    except json.JSONDecodeError as error:
        return None, f"isn't JSON ({error.msg} at character {error.pos + 1})"
    except ValueError as error:
        return None, f"isn't JSON ({str(error)[:80]})"
    return (value, "") if isinstance(value, dict) else (None, "is no JSON object")
