"""When the circuit opens, and how one request tries whether it may be closed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from rl_rewriter.errors import InputError
from rl_rewriter.serving.breaker import Admission, BreakerConfig, CircuitBreaker

CLOSED, PROBE, REFUSED = Admission.CLOSED, Admission.PROBE, Admission.REFUSED


class Clock:
    """Seconds that pass when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> CircuitBreaker:
    return CircuitBreaker(BreakerConfig(failures=3, seconds=30.0), clock=clock)


def fail(breaker: CircuitBreaker, times: int) -> None:
    for _ in range(times):
        breaker.report(breaker.admit(), False)


def test_failures_in_a_row_open_it(breaker: CircuitBreaker) -> None:
    fail(breaker, 2)
    breaker.report(breaker.admit(), True)
    fail(breaker, 2)
    assert breaker.admit() is CLOSED
    fail(breaker, 1)
    assert breaker.is_open
    assert breaker.admit() is REFUSED


def test_what_never_came_to_the_work_counts_neither_way(breaker: CircuitBreaker) -> None:
    fail(breaker, 2)
    breaker.report(breaker.admit(), None)
    fail(breaker, 1)
    assert breaker.admit() is REFUSED


@pytest.mark.parametrize("ok", [True, False])
def test_after_a_while_one_probe_decides(breaker: CircuitBreaker, clock: Clock, ok: bool) -> None:
    fail(breaker, 3)
    clock.now += 29.9
    assert breaker.admit() is REFUSED
    clock.now += 0.2
    assert [breaker.admit() for _ in range(3)] == [PROBE, REFUSED, REFUSED]
    breaker.report(PROBE, ok)
    assert breaker.admit() is (CLOSED if ok else REFUSED)
    clock.now += 30.1
    assert breaker.admit() is (CLOSED if ok else PROBE)


def test_a_probe_that_tried_nothing_leaves_it_to_the_next(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    fail(breaker, 3)
    clock.now += 31
    breaker.report(breaker.admit(), None)
    assert breaker.admit() is PROBE


def test_a_probe_that_is_never_heard_of_is_given_up(breaker: CircuitBreaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now += 31
    assert breaker.admit() is PROBE
    clock.now += 29
    assert breaker.admit() is REFUSED
    clock.now += 2
    assert breaker.admit() is PROBE


def test_a_straggler_of_before_closes_nothing(breaker: CircuitBreaker) -> None:
    before = breaker.admit()
    fail(breaker, 3)
    breaker.report(before, True)
    assert breaker.admit() is REFUSED


def test_it_can_be_switched_off() -> None:
    breaker = CircuitBreaker(BreakerConfig(failures=None))
    fail(breaker, 100)
    assert breaker.admit() is CLOSED


def test_of_many_threads_one_is_the_probe(breaker: CircuitBreaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now += 31
    with ThreadPoolExecutor(8) as pool:
        admitted = list(pool.map(lambda _: breaker.admit(), range(200)))
    assert admitted.count(PROBE) == 1
    assert admitted.count(REFUSED) == 199


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"failures": 0}, "failures must be at least 1"), ({"seconds": 0.0}, "seconds must be above")],
)
def test_settings_that_mean_nothing(settings: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        BreakerConfig(**settings)  # type: ignore[arg-type]  # that is what is tested
