"""Any dependency of ours fails, stalls or answers rubbish: the chain's documents, and the name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from rl_rewriter.serving.limits import Budget
from tests.chaos import KINDS, injected, mixed_faults
from tests.chaos_ways import WAYS, Way, problems_of, uncounted, unlogged

LIMIT = 1.0


@pytest.fixture(autouse=True)
def chaos() -> Iterator[None]:
    with injected():
        yield


@pytest.mark.parametrize("name", WAYS)
def test_every_fault_is_survived_named_counted_and_logged(name: str, tmp_path: Path) -> None:
    way = Way(name, tmp_path, Budget(seconds=LIMIT))
    way.warm_up()
    before = way.counted()
    outcomes = way.ask_all(mixed_faults(len(KINDS)), at_once=8)

    assert problems_of(outcomes) == Counter()
    assert {(each.fault.where, each.fault.how) for each in outcomes if each.fault.hit} == {
        kind for kind in KINDS if kind[0] != "nothing"
    }
    assert uncounted(way, outcomes, before["reasons"]) == Counter()
    wrong, too_late = unlogged(way, outcomes)
    assert wrong == []
    way.wait_for_listeners(len(outcomes))
    assert way.told.served.keys() == {each.decision.id for each in outcomes}
    assert way.told.twice == 0
    events = way.counted()["events"] - before["events"]
    assert events["log_error"] == 3 + len(too_late)
    assert events["listener_error"] == 1
    assert events["listener_late"] >= 1  # a request that is out of time has little left to be told
    assert max(each.seconds for each in outcomes) < 5.0  # a slow dependency takes ten seconds
