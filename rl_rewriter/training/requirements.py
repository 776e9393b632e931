"""What training needs beyond serving."""

from __future__ import annotations

from importlib.util import find_spec

from rl_rewriter.errors import MissingExtraError


def require_torch() -> None:
    """Refuse early, before anything is searched for nothing.

    Raises:
        MissingExtraError: torch isn't installed.
    """
    if find_spec("torch") is None:
        raise MissingExtraError("torch", "train")
