"""Is a value's size told about right?"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from rl_rewriter.caching.sizes import approximate_bytes
from rl_rewriter.types import Ranking


def ranking(n: int) -> Ranking:
    return Ranking(
        ids=tuple(f"document-{n}-{row}" for row in range(n)),
        scores=np.arange(n, dtype=np.float32),
        texts=tuple(f"{row}" * 200 for row in range(n)),
        metadatas=tuple({"tenant": f"tenant {row}", "n": float(row) + 0.5} for row in range(n)),
        vectors=np.zeros((3, 384), dtype=np.float32),
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: [ranking(n) for n in range(10, 60)],
        lambda: [np.zeros(384, dtype=np.float32) for _ in range(100)],
        lambda: ["x" * n for n in range(1000, 1200)],
        lambda: [{f"k{n}": ["é" * n, None, b"y" * n]} for n in range(500)],
    ],
)
def test_estimates_are_near_what_is_allocated(make: Callable[[], object]) -> None:
    make()
    tracemalloc.start()
    try:
        value = make()
        allocated, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 0.8 * allocated < approximate_bytes(value) < 1.6 * allocated
