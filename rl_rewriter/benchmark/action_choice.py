"""Which actions are compared: shell-style patterns over their names."""

from __future__ import annotations

from fnmatch import fnmatchcase

from rl_rewriter.actions.base import KEEP
from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.errors import InputError


def choose_actions(actions: ActionSpace, patterns: str) -> ActionSpace:
    """The actions that patterns name, in the order of the space; keep is always among them.

    Args:
        actions: What there is.
        patterns: Between commas, with ``*``, ``?`` and ``[...]``: "fuse_bm25*,move_*". A pattern
            after "!" leaves actions out; where there are no others, it does so from all of them.

    Raises:
        InputError: There is no pattern, or one that fits no action.
    """
    parts = [part for each in patterns.split(",") if (part := each.strip())]
    if not parts:
        raise InputError(f'--actions names no action: {patterns!r}; use e.g. "llm:*,!history_*"')
    wanted = [_matching(actions, part) for part in parts if not part.startswith("!")]
    unwanted = [_matching(actions, part[1:].strip()) for part in parts if part.startswith("!")]
    if any(names == {KEEP} for names in unwanted):
        raise InputError(f"{KEEP} is what all others are compared with: it cannot be left out")
    chosen = set().union(*wanted) if wanted else set(actions.names)
    chosen = chosen.difference(*unwanted) | {KEEP}
    return ActionSpace(tuple(action for action in actions if action.name in chosen))


def _matching(actions: ActionSpace, pattern: str) -> set[str]:
    found = {name for name in actions.names if name == pattern or fnmatchcase(name, pattern)}
    if not found:
        raise InputError(f"no action fits {pattern!r}; there are: {', '.join(actions.names)}")
    return found
