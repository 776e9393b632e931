"""Reads files that may come from a stranger: what and how large they are, before what they say."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

from rl_rewriter.errors import InputError

MAX_JSON_MEMORY = 128 << 20
"""Bytes that the values of one JSON text may take once it is read."""
_PER_VALUE, _PER_KEY = 64, 120
"""At most what a value, and what a key beside it, take in memory: measured with CPython 3.10."""
_WORST_PER_BYTE = 32
"""No JSON takes more for a byte of text: ``"a":1,`` is six bytes of a key and a value."""


def read_regular(path: Path, max_bytes: int) -> bytes:
    """The content of a regular file; symbolic links to one are followed.

    A folder, a pipe or a device is never waited for, and a file is never read past the limit.

    Args:
        path: The file.
        max_bytes: A longer file is refused.

    Raises:
        OSError: There is no such file, or it can't be read.
        InputError: It is no regular file, or too long.
    """
    # A pipe would wait for its writer otherwise, a terminal might become the process's own.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise InputError(f"{path} is no regular file")
        content = file.read(max_bytes + 1) if found.st_size <= max_bytes else b""
        if found.st_size > max_bytes or len(content) > max_bytes:
            raise InputError(f"{path} is longer than {max_bytes:,} bytes")
    return content


def parse_json(content: bytes) -> Any:
    """The value of a JSON text, unless that would take more memory than any real one does.

    Raises:
        ValueError: It is no JSON, nested too deeply, or of far too many values.
    """
    if is_too_much_json(content):
        raise ValueError(f"its values would take more than {MAX_JSON_MEMORY:,} bytes")
    try:
        return json.loads(content)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def is_too_much_json(content: bytes | str, start: int = 0) -> bool:
    """Whether the values of a JSON text might take more than ``MAX_JSON_MEMORY``.

    Values and keys are counted by the marks between them, which texts may hold too: a text of some
    million commas is refused though it is one value.

    Args:
        content: The text.
        start: Where in it the JSON begins.
    """
    if (len(content) - start) * _WORST_PER_BYTE <= MAX_JSON_MEMORY:
        return False
    if isinstance(content, bytes):
        values = (
            content.count(b",", start) + content.count(b"[", start) + content.count(b"{", start)
        )
        keys = content.count(b":", start)
    else:
        values = content.count(",", start) + content.count("[", start) + content.count("{", start)
        keys = content.count(":", start)
    return _PER_VALUE * values + _PER_KEY * keys > MAX_JSON_MEMORY
