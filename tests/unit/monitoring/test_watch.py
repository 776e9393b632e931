"""A listener that tells of drift, and never raises, blocks or grows."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, cast

import pytest

from rl_rewriter.errors import InputError
from rl_rewriter.logs.convert import write_records
from rl_rewriter.monitoring.drift_report import DriftReport
from rl_rewriter.monitoring.watch import DriftWatch
from rl_rewriter.types import Feedback, Query, Rewrite, RewriteDecision
from tests.unit.monitoring.parts import World


@dataclass(frozen=True)
class Request:
    decision: RewriteDecision
    tags: Mapping[str, Any]


def request(record: Mapping[str, Any]) -> Request:
    made = RewriteDecision(
        id=record["id"],
        query=Query("money back"),
        rewrite=Rewrite(("money back",)),
        action=record["action"],
        strength=0.0,
        propensity=1.0,
        probabilities={},
        preferences={},
        policy_name="mlp",
        policy_version="v1",
        reason=record["reason"],
        state=tuple(record["state"]),
        state_schema=record["state_schema"],
        time=record["time"],
    )
    return Request(made, record["tags"])


def serve(watch: DriftWatch, records: Iterable[Mapping[str, Any]]) -> None:
    for record in records:
        if record["type"] == "decision":
            watch(request(record))
        else:
            watch.on_feedback(
                Feedback(record["decision_id"], record["value"], "thumb", record["time"])
            )


def watching(told: list[DriftReport], **settings: Any) -> DriftWatch:
    sizes = {"every": 500, "reference": 1000, "recent": 1000, "in_background": False} | settings
    return DriftWatch(on_drift=told.append, **sizes)


def test_a_stream_in_which_nothing_changes_is_left_in_peace() -> None:
    told: list[DriftReport] = []
    watch = watching(told)
    serve(watch, World(n=6000).records())
    assert told == []
    assert watch.failures == 0
    assert watch.report is not None
    assert watch.report.verdict == "stable"


def test_drift_is_told_once_and_so_is_its_end() -> None:
    told: list[DriftReport] = []
    watch = watching(told)
    serve(watch, World(n=4000, change=2500, keep=0.1).records())
    serve(watch, World(n=2500, seed=1, answered=0.0).records())
    assert [report.verdict for report in told] in (["act", "stable"], ["act", "look", "stable"])
    assert told[0].alarms == ("action",)


def test_a_fall_of_the_rewards_is_told() -> None:
    told: list[DriftReport] = []
    serve(watching(told), World(n=6000, change=3000, fall=0.35).records())
    assert told[-1].verdict == "act"
    assert "the mean reward fell" in told[-1].reason


def test_it_can_be_compared_with_a_log(tmp_path: Path) -> None:
    told: list[DriftReport] = []
    write_records(World(n=2000).records(), tmp_path / "log.jsonl")
    watch = watching(told).compare_with(tmp_path / "log.jsonl")
    serve(watch, World(n=500, change=0, keep=0.1, seed=1).records())
    assert told[0].alarms == ("action",)
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(InputError, match="no decision"):
        watch.compare_with(tmp_path / "empty.jsonl")


def test_nothing_is_ever_raised(caplog: pytest.LogCaptureFixture) -> None:
    def broken(report: DriftReport) -> None:
        raise RuntimeError("the pager is down")

    watch = DriftWatch(every=200, on_drift=broken, reference=500, recent=500, in_background=False)
    watch(cast(Any, object()))
    watch.on_feedback(cast(Any, None))
    serve(watch, World(n=1500, change=600, keep=0.05).records())
    assert watch.failures >= 3
    assert "drift can't be watched" in caplog.text


def test_a_warning_is_logged_where_nobody_is_told(caplog: pytest.LogCaptureFixture) -> None:
    watch = DriftWatch(every=500, reference=1000, recent=1000, in_background=False)
    serve(watch, World(n=2500, change=1200, keep=0.05).records())
    assert "drift: act: shifted: action" in caplog.text


def test_many_threads_and_looks_beside_them() -> None:
    called = threading.Event()
    watch = DriftWatch(every=100, on_drift=lambda report: called.set(), reference=500, recent=500)
    for world in (World(n=500, seed=1), World(n=2000, change=0, keep=0.05, seed=2)):
        records = list(world.records())
        threads = [
            threading.Thread(target=serve, args=(watch, records[start::8])) for start in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    more = World(n=40_000, change=0, keep=0.05, seed=3).records()
    while not called.wait(0.1) and (batch := list(islice(more, 400))):
        serve(watch, batch)  # a look that was under way at the last request saw none of the change
    assert called.is_set()
    assert watch.failures == 0


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda watch: pickle.loads(pickle.dumps(watch))])
def test_a_copy_compares_with_the_same_requests(copied: Callable[[DriftWatch], DriftWatch]) -> None:
    watch = DriftWatch(every=500, reference=1000, recent=1000, in_background=False)
    serve(watch, World(n=1500).records())
    twin = copied(watch)
    assert twin.report is None
    serve(twin, World(n=2000, change=0, keep=0.05, seed=2).records())
    assert twin.report is not None
    assert "action" in twin.report.alarms
    assert watch.report is not None
    assert watch.report.verdict != "act"


def test_memory_is_bounded() -> None:
    watch = DriftWatch(every=10**9, reference=100, recent=50)
    serve(watch, World(n=12_000, answered=0.1).records())
    assert (len(watch._reference), len(watch._recent)) == (100, 50)
    assert len(watch._joined._waiting) == 10_000


def test_sizes_that_mean_nothing_are_refused() -> None:
    with pytest.raises(InputError, match="every, reference and recent must be at least 1"):
        DriftWatch(every=0)
