"""The learned blend: one search by all views of a query at once, each with a weight of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import Any

import numpy as np

from rl_rewriter.actions.blend_head import BlendHead
from rl_rewriter.actions.views import Seen, View, look, views_named
from rl_rewriter.errors import InputError
from rl_rewriter.types import Evidence, Needs, Rewrite, Vector

BLEND = "blend"
"""Name of the learned blend."""
_NEGLIGIBLE = 0.01
"""Views and BM25 are left out below this share: a search for nothing."""
_ROUNDING = 1e-3
"""What given weights may be off by, having been rounded."""


@dataclass(frozen=True, eq=False)
class LearnedBlend:
    """Searches a weighted sum of views (the query, feedback documents, the conversation, BM25).

    A document's score is ``(1 - l) dense + l lexical``, both min-max normalised: ``dense`` is the
    similarity to the weighted sum of the dense views' vectors, ``lexical`` the weighted sum of the
    lexical views' BM25 scores, and ``l`` the weight of all lexical views together. So it is one
    search by vector, fused with one by words (convex combination: Bruch et al., 2023,
    arXiv 2210.11934; feedback vectors: Rocchio, 1971).

    Attributes:
        head: Gives the weights.
        name: Names it in spaces, logs and tables.
    """

    head: BlendHead
    name: str = BLEND

    def __eq__(self, other: object) -> bool:
        """Equality of name and numbers."""
        return isinstance(other, LearnedBlend) and self._content == other._content

    def __hash__(self) -> int:
        """Hash of name and numbers."""
        return hash(self._content)

    @property
    def _content(self) -> tuple[str, str]:
        return self.name, self.head.version

    @cached_property
    def views(self) -> tuple[View, ...]:
        """What is blended."""
        return views_named(self.head.views)

    @cached_property
    def strength(self) -> float:
        """What the other views weigh together where the state says nothing."""
        present = np.ones((1, len(self.views)), dtype=np.bool_)
        others = 1.0 - float(self.head.weights_where_open(self.head.mean[None], present)[0, 0])
        return min(1.0, max(0.0, others))  # rounding may lead a little out of it

    @cached_property
    def needs(self) -> Needs:
        """All that the views are made of, and a search for their mix."""
        needs = reduce(or_, (view.needs for view in self.views), Needs.NOTHING)
        if Needs.VECTOR in needs:
            return needs | Needs.HISTORY_VECTORS
        return needs | Needs.BLEND

    @property
    def fuses(self) -> bool:
        """Whether its search asks BM25 as well."""
        return any(view.kind == "lexical" for view in self.views)

    def weights(self, evidence: Evidence, seen: Seen) -> Vector:
        """Weights of the views for one query, ``(v,)``; absent views have none."""
        weights: Vector = self.head.weights(self.state(evidence)[None], seen.present[None])[0]
        return weights

    def state(self, evidence: Evidence) -> Vector:
        """What the head sees of one query, ``(s,)``: its mean where nothing is known."""
        return self.head.mean if evidence.features is None else evidence.features

    def keeps(self, evidence: Evidence) -> bool:
        """Whether the state alone says that the query is kept, before its views are made."""
        return not self.head.is_open(self.state(evidence)[None])[0]

    def rewrite(self, evidence: Evidence) -> Rewrite | None:
        """The blended search; None where the query is to be kept or has no other view."""
        if self.keeps(evidence):
            return None
        seen = look(evidence, self.views)
        if not seen.present[1:].any():
            return None
        weights = self.weights(evidence, seen)
        return compose(evidence, self.views, seen, weights, self.head.scale)

    def rewrite_by(
        self, evidence: Evidence, weights: Mapping[str, float], seen: Seen | None = None
    ) -> Rewrite | None:
        """The search that given weights make, such as those of a logged decision.

        Args:
            evidence: The query, with all that the views are made of.
            weights: By view; those that aren't named have none.
            seen: What the views are for this query; looked at by default.

        Returns:
            The rewrite; None where the query has no other view, as :meth:`rewrite` does.

        Raises:
            InputError: The weights aren't positive shares of views that this blend and query have.
        """
        seen = look(evidence, self.views) if seen is None else seen
        given = np.asarray([weights.get(name, 0.0) for name in self.head.views], dtype=np.float64)
        unknown = [name for name in weights if name not in self.head.views]
        absent = given[~seen.present].any()
        if unknown or absent or not (given >= 0.0).all() or abs(given.sum() - 1.0) > _ROUNDING:
            raise InputError(
                "weights must be shares, summing to 1, of views that the blend and the query have "
                f"({', '.join(self.views_of(seen))}), got {dict(weights)}"
            )
        if not seen.present[1:].any():
            return None
        return compose(evidence, self.views, seen, given.astype(np.float32), self.head.scale)

    def views_of(self, seen: Seen) -> tuple[str, ...]:
        """Names of the views that a query has."""
        views = zip(self.head.views, seen.present.tolist(), strict=True)
        return tuple(name for name, is_present in views if is_present)

    def settings(self) -> Mapping[str, Any]:
        """What tells two learned blends apart, for a manifest."""
        return {"views": list(self.head.views), "version": self.head.version}


def compose(
    evidence: Evidence, views: tuple[View, ...], seen: Seen, weights: Vector, scale: Vector
) -> Rewrite:
    """The rewrite that searches views with the given weights.

    Args:
        evidence: The query.
        views: The views, ``v`` of them, the query first.
        seen: What they are for this query.
        weights: One a view, ``(v,)``, summing to 1.
        scale: What scores of each view are divided by, ``(v,)``.
    """
    is_lexical = np.asarray([view.kind == "lexical" for view in views])
    shares = weights / scale
    lexical_weight = float(weights[is_lexical].sum())
    dense = _shares(np.where(is_lexical, 0.0, shares)) or {0: 1.0}
    lexical = _shares(np.where(is_lexical, shares, 0.0))
    if lexical_weight < _NEGLIGIBLE or not lexical:
        lexical_weight, lexical = 0.0, {}
    texts: tuple[str, ...] = (evidence.query.text,)
    shares_of_texts: tuple[float, ...] = (1.0,)
    vector: Vector | None = None
    if seen.vectors is None:
        texts = tuple(seen.texts[row] for row in dense)
        shares_of_texts = tuple(dense.values())
    else:
        vector = np.asarray(list(dense.values()), dtype=np.float32) @ seen.vectors[list(dense)]
    return Rewrite(
        texts=texts,
        weights=shares_of_texts,
        vector=vector,
        lexical_weight=min(1.0, lexical_weight),
        lexical_texts=tuple(seen.texts[row] for row in lexical),
        lexical_shares=tuple(lexical.values()),
        without_words=not lexical,
    )


def _shares(weights: Vector) -> dict[int, float]:
    """Views that matter and their shares, which sum to 1; none where all weights are 0."""
    total = float(weights.sum())
    kept = {row: w for row, w in enumerate(weights.tolist()) if w > _NEGLIGIBLE * total}
    whole = sum(kept.values())
    return {row: weight / whole for row, weight in kept.items()}
