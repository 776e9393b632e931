"""Budgets, clocks, seeds, warnings and counters, each by itself."""

from __future__ import annotations

import copy
import logging
import pickle
from pathlib import Path
from typing import Any

import pytest

from rl_rewriter.errors import InputError, ServingError
from rl_rewriter.policies.decider import kept
from rl_rewriter.serving.counters import Counters
from rl_rewriter.serving.events import Served
from rl_rewriter.serving.limits import GRACE_SECONDS, Budget, Deadline
from rl_rewriter.serving.reasons import BREAKS_CIRCUIT, FAILURES, FALLBACKS, REFUSALS, failure_of
from rl_rewriter.serving.seeds import Seeds, checked_seed
from rl_rewriter.serving.warnings import RareWarnings
from rl_rewriter.types import Query


@pytest.mark.parametrize(
    "settings",
    [
        {"seconds": 0.0},
        {"seconds": -1.0},
        {"seconds": float("inf")},
        {"seconds": float("nan")},
        {"searches": -1},
        {"searches": 1.5},
        {"llm_calls": -1},
    ],
)
def test_budgets_that_mean_nothing(settings: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(settings))):
        Budget(**settings)


def test_the_clock_stands_still_while_others_work() -> None:
    now = [0.0]
    deadline = Deadline(1.0, clock=lambda: now[0])
    for _ in range(2):
        with deadline:
            now[0] += 0.3
        now[0] += 100.0
    assert deadline.spent == pytest.approx(0.6)
    assert deadline.remaining == pytest.approx(0.4)
    with deadline:
        now[0] += 5.0
    assert deadline.remaining == 0.0
    assert deadline.with_grace == GRACE_SECONDS
    assert Deadline(None).remaining is None


def test_a_seed_of_a_request_gives_the_same_draw() -> None:
    seeds = Seeds(1)
    assert seeds.rng(7).random() == Seeds(2).rng(7).random() != seeds.rng(8).random()
    assert Seeds(1).rng().random() == Seeds(1).rng().random()
    assert seeds.rng(-5).random() == seeds.rng(-5).random()
    assert copy.deepcopy(seeds).rng().random() != seeds.rng().random()


@pytest.mark.parametrize("seed", [True, "7", 1.0])
def test_what_is_no_seed(seed: Any) -> None:
    with pytest.raises(InputError, match="must be a whole number"):
        checked_seed(seed)


def test_one_warning_a_minute_says_how_many_it_held_back(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    warnings = RareWarnings(60.0, clock=lambda: now[0])
    with caplog.at_level(logging.WARNING):
        for _ in range(5):
            warnings.warn("query kept (fallback:search)", OSError("the query's words"))
        warnings.warn("query kept (fallback:timeout)")
        now[0] = 61.0
        warnings.warn("query kept (fallback:search)", OSError("the query's words"))
    assert [record.getMessage() for record in caplog.records] == [
        "query kept (fallback:search): OSError",
        "query kept (fallback:timeout)",
        "query kept (fallback:search): OSError (and 4 times since the last warning)",
    ]


def served(reason: str) -> Served:
    return Served(kept(Query("q"), reason), 3, 1, 2, 0.5, "python", {})


def test_counters_add_up_and_stay_bounded() -> None:
    counters = Counters()
    for number in range(500):
        counters.finished(served(f"reason {number}"))
    counters.happened("listener_error")
    counts = counters.snapshot()
    assert counts["requests"] == sum(counts["reasons"].values()) == 500
    assert len(counts["reasons"]) <= 101
    assert (counts["searches"], counts["llm_calls"], counts["seconds"]) == (500, 1000, 250.0)
    assert counts["events"] == {"listener_error": 1}
    counts["reasons"].clear()
    assert counters.snapshot()["reasons"]


def test_every_reason_is_a_refusal_or_a_failure() -> None:
    assert not REFUSALS.keys() & FAILURES.keys()
    assert FAILURES.keys() >= BREAKS_CIRCUIT
    assert failure_of("fallback:timeout") == "timeout"
    assert [failure_of(reason) for reason in ("policy", "fallback:filters", "timeout")] == [""] * 3
    assert all(meaning and not meaning.endswith(".") for meaning in FALLBACKS.values())


def test_every_reason_is_documented() -> None:
    text = (Path(__file__).parents[3] / "docs" / "serving.md").read_text("utf-8")
    for name, meaning in FALLBACKS.items():
        assert f"| `{name}` | {meaning} |" in text


def test_a_serving_error_can_be_sent_between_processes() -> None:
    again = pickle.loads(pickle.dumps(ServingError("timeout")))
    assert (again.reason, str(again)) == ("timeout", str(ServingError("timeout")))
