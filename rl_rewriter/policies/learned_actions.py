"""Actions that were learned with a policy: their numbers in its checkpoint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rl_rewriter.actions.blend import LearnedBlend
from rl_rewriter.actions.blend_head import BlendHead
from rl_rewriter.actions.views import check_views
from rl_rewriter.types import Matrix


def blend_arrays(blends: Iterable[LearnedBlend]) -> dict[str, Matrix]:
    """All numbers of learned blends, by name."""
    return {
        f"{_prefix(blend.name)}{name}": array
        for blend in blends
        for name, array in blend.head.arrays().items()
    }


def restored_blends(
    records: Sequence[Mapping[str, Any]], arrays: Mapping[str, Matrix]
) -> tuple[LearnedBlend, ...]:
    """The learned blends among a manifest's actions.

    Raises:
        CheckpointError: Their numbers are missing or damaged, or a view is unknown.
    """
    found = []
    for record in records:
        if record["type"] != LearnedBlend.__name__:
            continue
        name, views = str(record["name"]), record["settings"]["views"]
        check_views(views)
        prefix = _prefix(name)
        own = {key.removeprefix(prefix): a for key, a in arrays.items() if key.startswith(prefix)}
        found.append(LearnedBlend(BlendHead.restore(views, own), name))
    return tuple(found)


def _prefix(name: str) -> str:
    return f"actions.{name}."
