"""The files of a checkpoint, as bytes, JSON and arrays: refused before they can do any harm.

A checkpoint may come from a stranger. Nothing in it is executed: it is JSON and safetensors. What
could exhaust memory or hang is refused by size and kind before it is read.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rl_rewriter.errors import CheckpointError, InputError
from rl_rewriter.types import Matrix
from rl_rewriter.untrusted import parse_json, read_regular

MAX_FILE_BYTES = 16 << 20
"""Of each file. Policies are a few hundred kilobytes, term statistics a few megabytes."""
MAX_HEADER_BYTES = 1 << 20
"""Of the description in front of the weights."""
MAX_ACTIONS = 1_000
MAX_COLUMNS = 10_000
MAX_NAME_CHARS = 200

_HEADER_LENGTH = struct.Struct("<Q")


def read_file(path: Path) -> bytes:
    """The content of one file.

    Raises:
        CheckpointError: It doesn't exist, is no regular file, is too long or can't be read.
    """
    try:
        return read_regular(path, MAX_FILE_BYTES)
    except FileNotFoundError:
        raise CheckpointError(f"{path} does not exist; give the folder of a saved policy") from None
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror}") from error
    except InputError as error:
        raise CheckpointError(f"{error}, so it is no part of a saved policy") from None
    except ValueError as error:  # a path with a null character
        raise CheckpointError(f"{str(path)!r} cannot be read: {error}") from None


def parse_object(path: Path, content: bytes) -> dict[str, Any]:
    """The JSON object that a file holds.

    Raises:
        CheckpointError: It holds something else.
    """
    try:
        record = parse_json(content)
    except ValueError as error:
        raise CheckpointError(f"{path} is damaged: {error}") from error
    if not isinstance(record, dict):
        raise CheckpointError(f"{path} holds no JSON object")
    return record


def parse_arrays(path: Path, content: bytes) -> dict[str, Matrix]:
    """The arrays of a safetensors file; all are float32.

    Raises:
        CheckpointError: It is damaged, or holds numbers of another type.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    header = content[: _HEADER_LENGTH.size]
    if len(header) == _HEADER_LENGTH.size:
        [length] = _HEADER_LENGTH.unpack(header)
        if length > min(MAX_HEADER_BYTES, len(content)):
            raise CheckpointError(f"{path} is damaged: its header would be {length:,} bytes long")
    try:
        arrays = load(content)
    except (SafetensorError, ValueError, KeyError, OverflowError) as error:
        raise CheckpointError(f"{path} is damaged: {str(error)[:200]}") from error
    other = next((array.dtype for array in arrays.values() if array.dtype != np.float32), None)
    if other is not None:
        raise CheckpointError(f"{path} holds numbers of type {other}; a policy's are float32")
    components = arrays.get("features.components")
    if components is not None and (components.ndim != 2 or not np.isfinite(components).all()):
        raise CheckpointError(f"{path} is damaged: its directions of embeddings can't be read")
    return arrays


def check_manifest(path: Path, manifest: Mapping[str, Any]) -> None:
    """Refuse a manifest whose lists are endless or whose names are no names.

    Raises:
        CheckpointError: One is.
    """
    actions = manifest["actions"]
    if not isinstance(actions, list) or not isinstance(manifest.get("training", {}), dict):
        raise CheckpointError(f"{path} is not a complete policy: it lists no actions or training")
    _check_names(path, "actions", [action["name"] for action in actions], MAX_ACTIONS)
    _check_names(path, "action types", [action["type"] for action in actions], MAX_ACTIONS)
    _check_names(path, "columns", manifest["columns"], MAX_COLUMNS)
    _check_names(path, "features", manifest["features"], MAX_COLUMNS)


def _check_names(path: Path, what: str, names: Sequence[Any], limit: int) -> None:
    if not isinstance(names, list) or len(names) > limit:
        raise CheckpointError(f"{path} must list at most {limit:,} {what}")
    for name in names:
        if not isinstance(name, str) or len(name) > MAX_NAME_CHARS or not name.isprintable():
            raise CheckpointError(
                f"{path} lists {what} with a name that is none: {name!r:.80}; names are printable "
                f"texts of at most {MAX_NAME_CHARS} characters"
            )
