"""Which records of a log are held out from learning: the same ones whoever asks, and whenever."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt


def held_out(groups: Sequence[str], share: float, *, seed: int = 0) -> npt.NDArray[np.bool_]:
    """Rows whose group falls into the held-out share by its name alone, ``(n,)``.

    A judge who knows share and seed finds the same rows again, in this log or in one that it was
    joined to.

    Args:
        groups: Conversation of each row.
        share: Part of the groups that is held out, from 0 to 1.
        seed: Of the draw.
    """

    @cache
    def is_out(group: str) -> bool:
        content = f"{seed}:{group}".encode("utf-8", "surrogatepass")
        number = int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "big")
        return number < share * 2.0**64

    return np.fromiter((is_out(group) for group in groups), np.bool_, len(groups))
