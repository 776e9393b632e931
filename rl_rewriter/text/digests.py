"""Names of contents: equal for equal texts, whatever they contain."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable


def digest(parts: Iterable[str]) -> str:
    """32 hexadecimal digits that tell sequences of texts apart (BLAKE2b)."""
    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        content = part.encode("utf-8", "surrogatepass")
        found.update(f"{len(content)}:".encode())
        found.update(content)
    return found.hexdigest()
