"""What training needs beyond serving."""

from __future__ import annotations

from importlib.util import find_spec

from rl_rewriter.errors import MissingExtraError


def has_torch() -> bool:
    """Whether anything can be trained here."""
    return find_spec("torch") is not None


def require_torch() -> None:
    """Refuse early, before anything is searched for nothing.

    Raises:
        MissingExtraError: torch isn't installed.
    """
    if not has_torch():
        raise MissingExtraError("torch", "train")
