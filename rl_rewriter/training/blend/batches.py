"""Batches of queries for gradient steps."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from rl_rewriter.training.blend.objective import Batch
from rl_rewriter.training.blend.pools import Rows


def drawn(
    everything: Batch, rows: Rows, size: int, steps: int, generator: torch.Generator
) -> Iterator[tuple[Rows, Batch]]:
    """One batch a step: queries drawn without repetition, or all of them where they are few.

    Args:
        everything: All queries.
        rows: Those to draw from.
        size: Queries a batch.
        steps: How many batches.
        generator: Draws them.
    """
    if len(rows) <= size:
        whole = everything.rows(torch.from_numpy(rows))
        for _ in range(steps):
            yield rows, whole
        return
    for _ in range(steps):
        part = rows[torch.randperm(len(rows), generator=generator)[:size].numpy()]
        yield part, everything.rows(torch.from_numpy(part))
