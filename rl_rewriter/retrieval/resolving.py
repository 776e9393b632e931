"""From rewrites to the vectors they are searched by."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rl_rewriter.types import Matrix, Rewrite, Vector


def resolve_vectors(
    rewrites: Sequence[Rewrite], embed_queries: Callable[[Sequence[str]], Matrix]
) -> list[Vector]:
    """The vector ``(d,)`` of each rewrite: its own, or the weighted mix of its texts' embeddings.

    Args:
        rewrites: What to search for.
        embed_queries: Embeds texts, ``(n, d)``; called once, with each distinct text.
    """
    texts = [text for rewrite in rewrites if rewrite.vector is None for text in rewrite.texts]
    distinct = list(dict.fromkeys(texts))
    embedded = dict(zip(distinct, embed_queries(distinct), strict=True)) if distinct else {}
    return [
        rewrite.vector
        if rewrite.vector is not None
        else _mix([embedded[text] for text in rewrite.texts], rewrite.weights)
        for rewrite in rewrites
    ]


def _mix(vectors: list[Vector], weights: tuple[float, ...]) -> Vector:
    if len(vectors) == 1:
        return vectors[0]
    mixed: Vector = np.asarray(weights, dtype=np.float32) @ np.stack(vectors)
    return mixed
