"""Refuses settings that are out of range."""

from __future__ import annotations

import math
from numbers import Integral

from rl_rewriter.errors import InputError


def at_least(config: object, least: int, *names: str) -> None:
    """Refuse fields that aren't finite, or are below the least.

    Raises:
        InputError: One is.
    """
    for name in names:
        if not least <= getattr(config, name) < math.inf:
            raise InputError(
                f"{name} must be finite and at least {least}, got {getattr(config, name)}"
            )


def whole(config: object, least: int, *names: str) -> None:
    """Refuse fields that aren't whole numbers, or are below the least.

    Raises:
        InputError: One is.
    """
    for name in names:
        value = getattr(config, name)
        if not isinstance(value, Integral) or not int(value) >= least:
            raise InputError(f"{name} must be a whole number and at least {least}, got {value!r}")


def positive(config: object, *names: str) -> None:
    """Refuse fields that aren't finite, or not above 0.

    Raises:
        InputError: One is.
    """
    for name in names:
        if not 0 < getattr(config, name) < math.inf:
            raise InputError(f"{name} must be finite and > 0, got {getattr(config, name)}")
