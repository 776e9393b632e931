"""What weights of a blend were worth on other collections; reading it needs no torch."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np

from rl_rewriter.actions.blend_head import BlendHead
from rl_rewriter.errors import InputError
from rl_rewriter.types import Vector

_UNKNOWN = -1.0
_FILE = "shipped_prior.json"
STARTING_STRENGTH = 0.4
"""Share of the prior in what is served before anything is known of a collection; the rest is keep.
Alone it fell below keep where the embedding had found nearly everything (docs/experiments.md)."""


@dataclass(frozen=True, eq=False)
class BlendPrior:
    """What weights were worth elsewhere.

    Attributes:
        views: Names of views.
        logits: One a view, ``(v,)``; only their differences matter.
        scale: Typical range of each view's scores among the candidates of a query, ``(v,)``, above
            0; None where it isn't known.
    """

    views: tuple[str, ...]
    logits: Vector
    scale: Vector | None = None

    def __post_init__(self) -> None:
        """Refuse numbers that don't belong to the views."""
        shape = (len(self.views),)
        if self.logits.shape != shape or not np.isfinite(self.logits).all():
            raise InputError(
                f"a prior needs one finite logit for each of its {len(self.views)} views"
            )
        if self.scale is not None and (
            self.scale.shape != shape or not ((self.scale > 0) & np.isfinite(self.scale)).all()
        ):
            raise InputError(
                f"a prior needs one positive scale for each of its {len(self.views)} views"
            )

    def for_views(self, names: Sequence[str]) -> Vector:
        """Logits ``(v,)`` of the named views; low ones for views that it doesn't know."""
        known = dict(zip(self.views, self.logits.tolist(), strict=True))
        return np.asarray([known.get(name, _UNKNOWN) for name in names], dtype=np.float32)

    def head(self, names: Sequence[str], n_columns: int, strength: float) -> BlendHead:
        """Weights as they were elsewhere, the same for all queries.

        Args:
            names: Views to blend, the query first; those that the prior doesn't know are left out.
            n_columns: Length of the state, which they don't look at.
            strength: Share of the blend, in (0, 1]; the rest is keep.

        Raises:
            InputError: The strength is no such share, scales aren't known, or fewer than two of the
                views are, the query among them.
        """
        if not 0.0 < strength <= 1.0:
            raise InputError(f"strength must lie in (0, 1], got {strength}")
        views = tuple(name for name in names if name in self.views)
        if self.scale is None or len(views) < 2 or views[0] != names[0]:
            raise InputError(
                f"nothing to blend: the prior knows the scales of {', '.join(views) or 'no views'} "
                "here, and needs those of the query and of another view"
            )
        rows = [self.views.index(name) for name in views]
        nothing = np.zeros(n_columns, dtype=np.float32)
        bias, scale = self.logits[rows], self.scale[rows]
        return BlendHead(views, bias, scale, nothing, nothing + 1.0, strength=strength)

    def to_json(self) -> dict[str, dict[str, float]]:
        """Logit and scale by view, rounded to what matters."""
        scale = np.ones(len(self.views)) if self.scale is None else self.scale
        return {
            view: {"logit": round(float(logit), 3), "scale": float(f"{typical:.4g}")}
            for view, logit, typical in zip(self.views, self.logits, scale, strict=True)
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Mapping[str, Any]]) -> BlendPrior:
        """From :meth:`to_json`."""
        logits, scale = (
            np.asarray([numbers[name] for numbers in record.values()], dtype=np.float32)
            for name in ("logit", "scale")
        )
        return cls(tuple(record), logits, scale)


@lru_cache(maxsize=1)
def shipped_prior() -> BlendPrior:
    """The prior that comes with this package; its file names the collections it was learned on."""
    text = files("rl_rewriter.actions").joinpath(_FILE).read_text(encoding="utf-8")
    return BlendPrior.from_json(json.loads(text)["views"])
