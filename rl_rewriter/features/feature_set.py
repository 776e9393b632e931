"""Feature groups side by side, standardised with statistics of the training queries."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import or_
from typing import Any

import numpy as np
import numpy.typing as npt

from rl_rewriter.errors import CheckpointError
from rl_rewriter.features.base import FeatureExtractor
from rl_rewriter.features.first_ranking import FirstRanking, LexicalAgreement
from rl_rewriter.features.history import History
from rl_rewriter.features.query_embedding import QueryEmbedding
from rl_rewriter.features.query_text import QueryText
from rl_rewriter.types import Evidence, Matrix, Needs, Vector

Weights = npt.NDArray[np.float64]

_CLIP = 5.0
_CONSTANT = 1e12
_PLAIN: Mapping[str, type[Any]] = {
    "QueryText": QueryText,
    "FirstRanking": FirstRanking,
    "LexicalAgreement": LexicalAgreement,
    "History": History,
}


@dataclass(frozen=True, eq=False)
class FeatureSet:
    """The state of a query as the policy sees it.

    Attributes:
        extractors: Feature groups in order.
        mean: Mean of each column over the training queries, ``(d,)``; None before fitting.
        scale: Standard deviation of each column, ``(d,)``. Where a column never varied in training
            it is so large that the column stays 0: nothing was learned about other values.
    """

    extractors: tuple[FeatureExtractor, ...]
    mean: Vector | None = None
    scale: Vector | None = None

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns in order."""
        return tuple(name for extractor in self.extractors for name in extractor.columns)

    @cached_property
    def needs(self) -> Needs:
        """What evidence all groups together need."""
        return reduce(or_, (extractor.needs for extractor in self.extractors), Needs.NOTHING)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the column names in order."""
        return hashlib.sha256(json.dumps(self.columns).encode()).hexdigest()[:16]

    def states(self, evidence: Sequence[Evidence]) -> Matrix:
        """Standardised states, shape ``(n, d)`` float32, clipped to five standard deviations."""
        return self.standardised(self.raw(evidence))

    def raw(self, evidence: Sequence[Evidence]) -> Matrix:
        """Columns as the groups extract them, ``(n, d)`` float32: what logs and stores keep."""
        return np.concatenate([e.extract(evidence) for e in self.extractors], axis=1)

    def standardised(self, raw: Matrix) -> Matrix:
        """States of raw columns ``(n, d)``; the same columns where nothing is fitted."""
        if self.mean is None or self.scale is None:
            return raw
        states: Matrix = (raw - self.mean) / self.scale
        return np.minimum(np.maximum(states, -_CLIP), _CLIP)  # far quicker than clip on one row

    def fitted(self, evidence: Sequence[Evidence]) -> FeatureSet:
        """The same groups with statistics of these (training) queries."""
        return self.fitted_on(self.raw(evidence))

    def fitted_on(self, raw: Matrix, weights: Weights | None = None) -> FeatureSet:
        """The same groups with statistics of the raw columns of training queries, ``(n, d)``.

        Args:
            raw: The columns.
            weights: What each query counts for, ``(n,)``; all alike by default.
        """
        columns = raw.astype(np.float64)
        mean = np.average(columns, axis=0, weights=weights)
        spread = columns.std(axis=0)
        if weights is not None:
            spread = np.sqrt(np.average((columns - mean) ** 2, axis=0, weights=weights))
        scale = np.where(spread > 1e-8, spread, _CONSTANT)
        return replace(self, mean=mean.astype(np.float32), scale=scale.astype(np.float32))

    def to_json(self) -> list[str]:
        """Names of the groups, in order."""
        return [type(extractor).__name__ for extractor in self.extractors]

    def arrays(self) -> dict[str, Matrix]:
        """Everything learned, for a checkpoint."""
        arrays: dict[str, Matrix] = {}
        if self.mean is not None and self.scale is not None:
            arrays = {"features.mean": self.mean, "features.scale": self.scale}
        for extractor in self.extractors:
            if isinstance(extractor, QueryEmbedding):
                arrays["features.components"] = extractor.components
        return arrays

    @classmethod
    def restore(cls, groups: Sequence[str], arrays: Mapping[str, Matrix]) -> FeatureSet:
        """Rebuild from :meth:`to_json` and :meth:`arrays`.

        Raises:
            CheckpointError: A group is unknown or its numbers are missing.
        """
        extractors: list[FeatureExtractor] = []
        for group in groups:
            if group == "QueryEmbedding" and "features.components" in arrays:
                extractors.append(QueryEmbedding(arrays["features.components"]))
            elif group in _PLAIN:
                extractors.append(_PLAIN[group]())
            else:
                raise CheckpointError(f"the policy was trained with unknown features {group!r}")
        mean, scale = arrays.get("features.mean"), arrays.get("features.scale")
        restored = cls(tuple(extractors), mean, scale)
        size = (len(restored.columns),)
        if mean is None or scale is None or mean.shape != size or scale.shape != size:
            raise CheckpointError(
                f"the policy's feature statistics do not fit its {size[0]} feature columns; "
                "train it again with this version"
            )
        if not (np.isfinite(mean).all() and np.isfinite(scale).all() and (scale > 0).all()):
            raise CheckpointError(
                "the policy's feature statistics hold NaN, infinity or a scale of 0; train it again"
            )
        return restored


def features_of(fingerprint: str) -> FeatureSet | None:
    """The default groups whose columns have this fingerprint; None where no choice of them has."""
    first, lexical = FirstRanking().needs, LexicalAgreement().needs
    choices = map(default_features, (Needs.NOTHING, first, lexical, first | lexical))
    return next((found for found in choices if found.fingerprint == fingerprint), None)


def default_features(
    offers: Needs, evidence: Sequence[Evidence] = (), *, embedding_components: int = 0
) -> FeatureSet:
    """All groups that a retriever with these offers can feed.

    Args:
        offers: What the retriever offers.
        evidence: Training queries, needed for the embedding's directions only.
        embedding_components: Directions of the query embedding to add; 0 for none.
    """
    groups: list[FeatureExtractor] = [QueryText(), History()]
    for group in (FirstRanking(), LexicalAgreement()):
        if not (group.needs & ~offers):
            groups.append(group)
    if embedding_components and Needs.VECTOR in offers and evidence:
        groups.append(QueryEmbedding.fit(evidence, embedding_components))
    return FeatureSet(tuple(groups))
