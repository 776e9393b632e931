"""Elements of a JSON array of any size, read piece by piece."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator, Mapping
from typing import IO, Any

from rl_rewriter.untrusted import is_too_much_json

_CHUNK_BYTES = 1 << 20
_MOST_BYTES = 1 << 22
"""Read at once: so little that no element within can take much memory."""
_MOST_STRANGE = 100_000
"""Elements that are no objects; an array of more is no export, and isn't read to its end."""
_BETWEEN = re.compile(r"[\s,]*")
_NEAR_THE_END = 16
"""An error so near to the end of what was read may come of the cut; one before it can't."""

_decoder = json.JSONDecoder()


class _Text:
    """A window on a file's text that grows at its end and forgets its start."""

    def __init__(self, start: str, file: IO[bytes], line: int) -> None:
        self.text = start
        self.position = 0
        self.line = line
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    def move_to(self, position: int) -> None:
        """Go on to a position, counting the lines in between."""
        self.line += self.text.count("\n", self.position, position)
        self.position = position

    def grow(self) -> bool:
        """Read on, as much again as is held, up to a limit; whether there was anything."""
        held = len(self.text) - self.position
        more = self._file.read(min(max(_CHUNK_BYTES, held), _MOST_BYTES))
        self.text = self.text[self.position :] + self._decode(more, final=not more)
        self.position = 0
        return bool(more)

    def skip_separators(self) -> str:
        """Go to the next element; its first character, or "" at the end of the file."""
        while True:
            between = _BETWEEN.match(self.text, self.position)
            self.move_to(between.end() if between else self.position)
            if self.position < len(self.text):
                return self.text[self.position]
            if not self.grow():
                return ""


def array_elements(
    start: str, file: IO[bytes], line: int, max_row_chars: int
) -> Iterator[tuple[int, Mapping[str, Any] | None, str]]:
    """Objects of an array, each with its line; a damaged one ends the reading.

    Args:
        start: What was read already, from the opening bracket or the space before it.
        file: The rest.
        line: Where ``start`` begins.
        max_row_chars: A longer element is a problem.

    Yields:
        Line, object or None, and what is wrong with it.
    """
    window = _Text(start, file, line)
    window.move_to(start.index("[") + 1)
    n_strange = 0
    while (first := window.skip_separators()) != "]":
        if not first:
            yield window.line, None, "isn't whole: the JSON array breaks off here"
            return
        found, problem = _element(window, max_row_chars)
        if found is None:
            yield window.line, None, f"{problem}; the rest of the array was not read"
            return
        value, end = found
        is_object = isinstance(value, dict)
        n_strange += not is_object
        if n_strange > _MOST_STRANGE:
            yield window.line, None, "is one of far too many elements that are no objects"
            return
        yield window.line, value if is_object else None, "" if is_object else "is no JSON object"
        window.move_to(end)


def _element(window: _Text, max_row_chars: int) -> tuple[tuple[Any, int] | None, str]:
    """The element at the window's position with its end; None and the problem with it."""
    while True:
        try:
            return _decoder.raw_decode(window.text, window.position), ""
        except RecursionError:
            return None, "is nested too deeply"
        except json.JSONDecodeError as error:
            is_cut = error.msg.startswith("Unterminated") or (
                error.pos >= len(window.text) - _NEAR_THE_END
            )
            if not is_cut:
                return None, f"isn't JSON ({error.msg})"
            if len(window.text) - window.position > max_row_chars:
                return None, f"is longer than {max_row_chars:,} characters"
            if is_too_much_json(window.text, window.position):
                return None, "holds more values than any row of an export"
            if not window.grow():
                return None, f"isn't whole: the file breaks off in it ({error.msg})"
        except ValueError as error:
            return None, f"isn't JSON ({str(error)[:80]})"
