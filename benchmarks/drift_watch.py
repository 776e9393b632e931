"""What a request pays for ``DriftWatch``: microseconds a call, with forty features.

Looks have a thread of their own, as in service; the longest calls are those that had to wait for a
lock or for the interpreter. Run it from the repository root: ``python -m benchmarks.drift_watch``.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks._support import print_table
from rl_rewriter.monitoring.watch import DriftWatch
from rl_rewriter.types import Feedback, Query, Rewrite, RewriteDecision

N_CALLS = 50_000
N_FEATURES = 40


@dataclass(frozen=True)
class Request:
    """One finished request."""

    decision: RewriteDecision
    tags: Mapping[str, Any]


def requests(n: int) -> list[Request]:
    """Generated requests in which nothing changes, three in a conversation."""
    rng = np.random.default_rng(0)
    query, rewrite = Query("money back"), Rewrite(("money back",))
    states = rng.standard_normal((n, N_FEATURES)).tolist()
    return [
        Request(
            RewriteDecision(
                id=f"d{row}",
                query=query,
                rewrite=rewrite,
                action=("keep", "keywords")[row % 2],
                strength=0.0,
                propensity=0.5,
                probabilities={},
                preferences={},
                policy_name="mlp",
                policy_version="v1",
                reason="policy",
                state=tuple(states[row]),
                state_schema="0123456789abcdef",
                time=1.8e9 + row,
            ),
            {"session_id": f"s{row // 3}"},
        )
        for row in range(n)
    ]


def main() -> None:
    """Time all calls and print."""
    served = requests(N_CALLS)
    watch = DriftWatch()
    calls, answers = np.empty(N_CALLS), np.empty(N_CALLS)
    for row, request in enumerate(served):
        started = time.perf_counter()
        watch(request)
        called = time.perf_counter()
        watch.on_feedback(Feedback(f"d{row}", float(row % 3 > 0), "thumb", 1.8e9 + row))
        calls[row], answers[row] = called - started, time.perf_counter() - called
        time.sleep(0.0002)  # as if a chain had something to do
    rows = [
        (name, *(f"{1e6 * np.quantile(taken, share):.1f}" for share in (0.5, 0.95, 0.99, 1.0)))
        for name, taken in (("request", calls), ("feedback", answers))
    ]
    print_table(("microseconds", "median", "p95", "p99", "longest"), rows)
    if watch.failures:
        raise RuntimeError(f"{watch.failures} calls failed")


if __name__ == "__main__":
    main()
