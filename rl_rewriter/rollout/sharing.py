"""Which sessions a rollout's share holds: the same ones in every process, and no fewer later."""

from __future__ import annotations

import hashlib
import uuid

_DIGEST_BYTES = 8


def place_of(session: str, salt: str) -> float:
    """Where a session lies between 0 and 1, evenly spread and fixed for one salt (BLAKE2b).

    A session without a name lies somewhere else at each request.

    Args:
        session: Its name; whatever text the caller knows it by.
        salt: Name of the rollout, so that not always the same sessions are the first to try.
    """
    name = session or uuid.uuid4().hex
    digest = hashlib.blake2b(
        name.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES, key=salt.encode()
    )
    return int.from_bytes(digest.digest(), "big") / (1 << 8 * _DIGEST_BYTES)


def is_in_share(session: str, salt: str, share: float) -> bool:
    """Whether a session belongs to a share; one that does belongs to every greater share too."""
    return share >= 1.0 or place_of(session, salt) < share
