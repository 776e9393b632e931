"""Locks after a fork: a thread that isn't in the child may have held one."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Renewable(Protocol):
    """Holds locks or threads that a forked process can't use."""

    def renew(self) -> None:
        """Replace them by fresh ones; no other thread runs meanwhile."""
        ...


_KNOWN: weakref.WeakSet[Renewable] = weakref.WeakSet()


def renewed_after_fork(holder: Renewable) -> None:
    """Have ``holder`` renewed in every process that is forked from now on."""
    _KNOWN.add(holder)


def _renew_all() -> None:
    for holder in list(_KNOWN):
        holder.renew()


os.register_at_fork(after_in_child=_renew_all)
