"""Evidence made by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from rl_rewriter.actions.blend_head import BlendHead
from rl_rewriter.text.statistics import CollectionStatistics, Topic
from rl_rewriter.types import Evidence, Query, Ranking, Turn

MakeEvidence = Callable[..., Evidence]

STATISTICS = CollectionStatistics(
    n_documents=100,
    document_frequency={"refund": 2, "card": 10, "money": 20, "order": 50, "退款": 3, "快递": 9},
    topics=(Topic("payment", {"refund": 0.8, "card": 0.4}), Topic("退款", {"退款": 0.7})),
)


def ranking(
    texts: Sequence[str] | None = None, vectors: Sequence[Sequence[float]] | None = None
) -> Ranking:
    size = len(texts if texts is not None else vectors or ())
    return Ranking(
        ids=tuple(f"d{number}" for number in range(size)),
        scores=np.linspace(1, 0.5, size, dtype=np.float32),
        texts=None if texts is None else tuple(texts),
        vectors=None if vectors is None else np.asarray(vectors, dtype=np.float32),
    )


def head_of(
    views: Sequence[str] = ("query", "first_3", "words"),
    *,
    weights: Sequence[float] | None = None,
    n_features: int = 2,
    strength: float = 1.0,
) -> BlendHead:
    """A head that weighs all queries alike, its scores as they are."""
    shares = np.asarray(weights if weights is not None else np.ones(len(views)), dtype=np.float32)
    return BlendHead(
        tuple(views),
        bias=np.log(shares),
        scale=np.ones(len(views), dtype=np.float32),
        mean=np.zeros(n_features, dtype=np.float32),
        spread=np.ones(n_features, dtype=np.float32),
        strength=strength,
    )


@pytest.fixture(name="evidence")
def make_evidence() -> MakeEvidence:
    def make(
        text: str,
        history: Sequence[tuple[str, str]] = (),
        *,
        first: Ranking | None = None,
        lexical: Ranking | None = None,
        vector: Sequence[float] | None = None,
    ) -> Evidence:
        turns = tuple(Turn(role, said) for role, said in history)  # type: ignore[arg-type]
        return Evidence(
            Query(text, turns),
            STATISTICS,
            vector=None if vector is None else np.asarray(vector, dtype=np.float32),
            first=first,
            lexical=lexical,
        )

    return make
