"""Makes packages absent, as if they had never been installed; for processes of their own."""

from __future__ import annotations

import sys
from typing import Any


class _Hiding:
    """A finder that doesn't find some packages.

    Args:
        finder: What finds the others.
        hidden: Names of top-level packages.
    """

    def __init__(self, finder: Any, hidden: tuple[str, ...]) -> None:
        self._finder = finder
        self._hidden = hidden

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name.partition(".")[0] in self._hidden:
            return None
        return self._finder.find_spec(name, path, target)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._finder, name)


def hide(*packages: str) -> None:
    """Hide packages from every import that follows; they must not have been imported yet."""
    early = [name for name in packages if name in sys.modules]
    if early:
        raise RuntimeError(f"{early} are imported already")
    sys.meta_path[:] = [_Hiding(finder, packages) for finder in sys.meta_path]
