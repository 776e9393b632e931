"""Which actions are compared: shell-style patterns over their names."""

from __future__ import annotations

from fnmatch import fnmatchcase

from rl_rewriter.actions.base import KEEP
from rl_rewriter.actions.blend import BLEND
from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.errors import InputError


def choose_actions(actions: ActionSpace, patterns: str) -> ActionSpace:
    """The actions that patterns name, in the order of the space; keep is always among them.

    A pattern may also fit the learned blend alone, which is no action before it is learned
    (:func:`learns_blend`).

    Args:
        actions: What there is.
        patterns: Between commas, with ``*``, ``?`` and ``[...]``: "fuse_bm25*,move_*". A pattern
            after "!" leaves actions out; where there are no others, it does so from all of them.

    Raises:
        InputError: There is no pattern, or one that fits no action.
    """
    wanted, unwanted = (
        [_matching(actions, part) for part in parts] for parts in _divided(patterns)
    )
    if any(names == {KEEP} for names in unwanted):
        raise InputError(f"{KEEP} is what all others are compared with: it cannot be left out")
    chosen = set().union(*wanted) if wanted else set(actions.names)
    chosen = chosen.difference(*unwanted) | {KEEP}
    return ActionSpace(tuple(action for action in actions if action.name in chosen))


def learns_blend(patterns: str | None) -> bool:
    """Whether patterns leave a blend to be learned: where they choose its name, "blend".

    Args:
        patterns: As for :func:`choose_actions`; None chooses everything.

    Raises:
        InputError: There is no pattern.
    """
    if patterns is None:
        return True
    wanted, unwanted = _divided(patterns)
    is_wanted = not wanted or any(_fits(BLEND, pattern) for pattern in wanted)
    return is_wanted and not any(_fits(BLEND, pattern) for pattern in unwanted)


def _divided(patterns: str) -> tuple[list[str], list[str]]:
    """Patterns of what is wanted, and of what isn't."""
    parts = [part for each in patterns.split(",") if (part := each.strip())]
    if not parts:
        raise InputError(f'--actions names no action: {patterns!r}; use e.g. "llm:*,!history_*"')
    wanted = [part for part in parts if not part.startswith("!")]
    return wanted, [part[1:].strip() for part in parts if part.startswith("!")]


def _fits(name: str, pattern: str) -> bool:
    return name == pattern or fnmatchcase(name, pattern)


def _matching(actions: ActionSpace, pattern: str) -> set[str]:
    found = {name for name in actions.names if _fits(name, pattern)}
    if not found and not _fits(BLEND, pattern):
        raise InputError(f"no action fits {pattern!r}; there are: {', '.join(actions.names)}")
    return found
