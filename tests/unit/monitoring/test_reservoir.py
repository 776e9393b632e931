"""Samples are even, and memory stays what it was."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from rl_rewriter.monitoring.reservoir import Reservoir, Timeline
from rl_rewriter.monitoring.seen import Seen, seen_in
from tests.unit.monitoring.parts import decision


def rows(n: int) -> list[Seen]:
    return [seen_in(decision(f"d{number}", number)) for number in range(n)]


def numbers(sample: list[Seen]) -> np.ndarray:
    return np.asarray([int(row.id[1:]) for row in sample])


def test_every_row_has_the_same_chance_to_be_kept() -> None:
    stream = rows(400)
    kept = np.zeros(400)
    for seed in range(300):
        sample = Reservoir(20, np.random.default_rng(seed))
        for row in stream:
            sample.add(row)
        kept[numbers(sample.rows)] += 1
    halves = kept.reshape(4, 100).sum(axis=1) / kept.sum()
    assert halves == pytest.approx([0.25] * 4, abs=0.02)
    assert sample.n == 400


@pytest.mark.parametrize("n", [1, 5, 127, 128, 129, 5000])
def test_halves_and_quarters_of_a_stream_of_unknown_length(n: int) -> None:
    timeline = Timeline(np.random.default_rng(0), kept=20)
    for row in rows(n):
        timeline.add(row)
    assert timeline.n == n
    first, last = timeline.part(0.0, 0.5), timeline.part(0.75, 1.0)
    tolerance = max(1, n // 32)
    assert sum(part.n for part in first) == pytest.approx(n / 2, abs=tolerance)
    assert sum(part.n for part in last) == pytest.approx(n / 4, abs=tolerance)
    everything = timeline.part(0.0, 1.0)
    assert len(everything) <= 128
    assert sum(len(part.rows) for part in everything) <= 128 * 20
    kept = [numbers(part.rows) for part in everything]
    assert all(a.max() < b.min() for a, b in pairwise(kept))
