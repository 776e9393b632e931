"""Is a value computed once, shared by all who ask, and forgotten when it should be?"""

from __future__ import annotations

import copy
import os
import pickle
import signal
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rl_rewriter.caching.config import CacheConfig
from rl_rewriter.caching.sizes import approximate_bytes
from rl_rewriter.caching.store import ServingCache
from rl_rewriter.errors import InputError

WAIT_S = 20.0


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Slow:
    """Computes when it is let; keeps which rows it was asked for."""

    def __init__(self, answer: Callable[[list[int]], Sequence[Any]] | None = None) -> None:
        self.started, self.let = threading.Event(), threading.Event()
        self.asked: list[list[int]] = []
        self._answer = answer or (lambda rows: [f"v{row}" for row in rows])

    def __call__(self, rows: list[int]) -> Sequence[Any]:
        self.asked.append(rows)
        self.started.set()
        assert self.let.wait(WAIT_S)
        return self._answer(rows)


def one(cache: ServingCache, key: str, value: object = "v") -> Any:
    [found] = cache.get_many([key], lambda rows: [value])
    return found


def refuses(rows: list[int]) -> Sequence[Any]:
    raise ValueError("refused")


def never(rows: list[int]) -> Sequence[Any]:
    raise AssertionError("there was nothing to compute")


def waiting(cache: ServingCache, n: int) -> None:
    """Until n threads are waiting for a value or have one."""
    deadline = threading.Event()
    for _ in range(2000):
        if cache.stats().hits >= n:
            return
        deadline.wait(0.005)
    raise AssertionError(f"{cache.stats()}, not {n} waiting")


def test_one_of_many_threads_computes_and_no_lock_is_held() -> None:
    cache, slow = ServingCache(), Slow()
    with ThreadPoolExecutor(17) as pool:
        asked = [pool.submit(cache.get_many, ["k"], slow) for _ in range(16)]
        assert slow.started.wait(WAIT_S)
        waiting(cache, 15)
        assert one(cache, "another") == "v"  # would hang if a lock were held
        slow.let.set()
        assert [each.result(WAIT_S) for each in asked] == [["v0"]] * 16
    assert slow.asked == [[0]]
    assert cache.get_many(["k"], never) == ["v0"]


def test_an_error_reaches_all_who_wait_and_is_not_kept() -> None:
    cache, slow = ServingCache(), Slow(refuses)
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(cache.get_many, ["k"], slow) for _ in range(4)]
        assert slow.started.wait(WAIT_S)
        waiting(cache, 3)
        slow.let.set()
        for each in asked:
            with pytest.raises(ValueError, match="refused"):
                each.result(WAIT_S)
    assert len(slow.asked) == 1
    assert one(cache, "k", "well again") == "well again"


def test_a_timeout_of_the_computation_is_its_own() -> None:
    def times_out(rows: list[int]) -> Sequence[Any]:
        raise TimeoutError("the server's")

    cache, slow = ServingCache(), Slow(times_out)
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(cache.get_many, ["k"], slow) for _ in range(2)]
        waiting(cache, 1)
        slow.let.set()
        for each in asked:
            with pytest.raises(TimeoutError, match="the server's"):
                each.result(WAIT_S)
    assert len(slow.asked) == 1


@pytest.mark.parametrize("failure", [ValueError("of k"), KeyboardInterrupt()])
def test_another_searchs_failure_or_exit_is_not_the_waiters(failure: BaseException) -> None:
    def fails(rows: list[int]) -> Sequence[Any]:
        raise failure

    cache, slow = ServingCache(), Slow(fails)
    keys = ["k", "other"] if isinstance(failure, ValueError) else ["other"]
    caught: list[BaseException] = []

    def ask() -> None:
        try:
            cache.get_many(keys, slow)
        except BaseException as error:
            caught.append(error)

    first = threading.Thread(target=ask)
    first.start()
    assert slow.started.wait(WAIT_S)
    with ThreadPoolExecutor(2) as pool:
        others = [pool.submit(one, cache, "other") for _ in range(2)]
        waiting(cache, 2)
        slow.let.set()
        assert [other.result(WAIT_S) for other in others] == ["v", "v"]
    first.join(WAIT_S)
    assert caught == [failure]


def test_a_computation_that_hangs_holds_nobody_up_for_long() -> None:
    cache, slow = ServingCache(CacheConfig(wait_seconds=0.05)), Slow()
    with ThreadPoolExecutor(1) as pool:
        hanging = pool.submit(cache.get_many, ["k"], slow)
        assert slow.started.wait(WAIT_S)
        assert one(cache, "k", "mine") == "mine"
        assert cache.get_many(["k"], never) == ["mine"]
        slow.let.set()
        assert hanging.result(WAIT_S) == ["v0"]


def test_batches_that_overlap_do_not_wait_for_each_other() -> None:
    cache, left, right = ServingCache(), Slow(), Slow(lambda rows: [f"w{row}" for row in rows])
    with ThreadPoolExecutor(2) as pool:
        one_way = pool.submit(cache.get_many, ["a", "b"], left)
        assert left.started.wait(WAIT_S)
        other_way = pool.submit(cache.get_many, ["c", "b", "a"], right)
        assert right.started.wait(WAIT_S)
        right.let.set()
        left.let.set()
        assert one_way.result(WAIT_S) == ["v0", "v1"]
        assert other_way.result(WAIT_S) == ["w0", "v1", "v0"]
    assert (left.asked, right.asked) == ([[0, 1]], [[0]])


def test_only_what_is_missing_is_computed_and_equal_keys_once() -> None:
    cache, asked = ServingCache(), []
    one(cache, "b", "kept")

    def compute(rows: list[int]) -> Sequence[Any]:
        asked.append(rows)
        return [f"v{row}" for row in rows]

    assert cache.get_many(["a", "b", "a", "c"], compute) == ["v0", "kept", "v0", "v3"]
    assert asked == [[0, 3]]
    assert cache.get_many([], never) == []
    assert cache.stats()[:3] == (1, 3, 3)


def test_a_wrong_number_of_values_is_an_error_and_leaves_nothing_behind() -> None:
    cache = ServingCache()
    with pytest.raises(ValueError, match="shorter"):
        cache.get_many(["a", "b"], lambda rows: ["v"])
    assert one(cache, "a") == "v"


def test_values_are_dropped_after_their_time() -> None:
    clock = Clock()
    cache = ServingCache(CacheConfig(seconds=10.0), clock=clock)
    one(cache, "k", "old")
    clock.now = 9.9
    assert one(cache, "k", "new") == "old"
    clock.now = 10.0
    assert cache.items() == []
    assert one(cache, "k", "new") == "new"
    assert ServingCache().config.seconds == 24 * 3600


def test_a_day_is_a_day_however_often_it_is_asked_for() -> None:
    clock = Clock()
    cache = ServingCache(clock=clock)
    one(cache, "k", "old")
    for hour in range(24):
        clock.now = hour * 3600.0
        assert cache.get("k") == "old"
    clock.now = 24 * 3600.0
    assert cache.get("k") is None
    assert cache.stats().entries == cache.stats().bytes == 0


def test_the_size_has_an_end() -> None:
    cache = ServingCache(CacheConfig(max_bytes=100_000))
    for number in range(50):
        one(cache, f"k{number}", "x" * 9_000)
    assert 80_000 < cache.stats().bytes <= 100_000
    assert cache.get("k49") is not None
    assert cache.get("k0") is None
    one(cache, "whale", "x" * 200_000)
    assert cache.get("whale") is None
    assert cache.get("k49") is not None


def test_what_is_not_current_any_more_is_handed_out_but_not_kept() -> None:
    cache = ServingCache()
    assert cache.get_many(["k"], lambda rows: ["v"], is_current=lambda: False) == ["v"]
    assert cache.get("k") is None


def test_clearing_forgets_what_is_being_computed_too() -> None:
    cache, slow = ServingCache(), Slow()
    one(cache, "a")
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(cache.get_many, ["k"], slow)
        assert slow.started.wait(WAIT_S)
        cache.clear()
        assert one(cache, "k", "new") == "new"
        slow.let.set()
        assert asked.result(WAIT_S) == ["v0"]
    assert cache.items() == [("k", "new")]


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_starts_empty_and_waits_for_no_thread_of_its_parent() -> None:
    cache, slow = ServingCache(), Slow()
    one(cache, "kept", "of the parent")
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(cache.get_many, ["k"], slow)
        assert slow.started.wait(WAIT_S)
        with cache._lock:  # as another thread might at this moment
            child = os.fork()
            if child == 0:
                signal.alarm(30)  # ends a child that waits for ever
                os._exit(0 if one(cache, "k", "c") == "c" and cache.get("kept") is None else 1)
        slow.let.set()
        asked.result(WAIT_S)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert cache.get("kept") == "of the parent"


def test_copies_are_empty() -> None:
    cache = ServingCache(CacheConfig(max_entries=7))
    one(cache, "k")
    for twin in (copy.deepcopy(cache), pickle.loads(pickle.dumps(cache))):
        assert twin.config == cache.config
        assert twin.get("k") is None
        assert one(twin, "k", "own") == "own"


@pytest.mark.parametrize("name", ["seconds", "max_entries", "max_bytes", "wait_seconds"])
@pytest.mark.parametrize("value", [0, -1, float("nan")])
def test_bounds_out_of_range_are_refused(name: str, value: float) -> None:
    with pytest.raises(InputError, match=f"{name} of a cache must be above 0"):
        CacheConfig(**{name: value})  # type: ignore[arg-type]


STEPS = st.lists(
    st.tuples(st.sampled_from(["ask", "later", "put"]), st.sampled_from("abcdefg")), max_size=60
)


@given(STEPS, st.integers(1, 5))
def test_it_behaves_like_the_plainest_cache(steps: list[tuple[str, str]], room: int) -> None:
    clock, model = Clock(), OrderedDict[str, tuple[int, float]]()
    cache = ServingCache(CacheConfig(seconds=5.0, max_entries=room), clock=clock)
    for number, (step, key) in enumerate(steps):
        if step == "later":
            clock.now += 1.0
            continue
        known = model.get(key)
        if known is not None and known[1] <= clock.now:
            known = model.pop(key) and None
        if step == "ask" and known is not None:
            model.move_to_end(key)
            assert one(cache, key, number) == known[0]
            continue
        if step == "ask":
            assert one(cache, key, number) == number
        else:
            cache.put(key, number)
        model.pop(key, None)
        model[key] = number, clock.now + 5.0
        if len(model) > room:
            model.popitem(last=False)
    alive = [(key, value) for key, (value, end) in model.items() if end > clock.now]
    assert cache.items() == alive
    held = sum(500 + approximate_bytes(key) + approximate_bytes(v[0]) for key, v in model.items())
    assert cache.stats().bytes == held


@given(st.lists(st.lists(st.sampled_from("abcdef"), max_size=6), min_size=2, max_size=6))
def test_any_batches_of_any_threads_end_with_the_right_values(batches: list[list[str]]) -> None:
    cache = ServingCache()
    computed: list[str] = []

    def ask(keys: list[str]) -> list[str]:
        def compute(rows: list[int]) -> Sequence[Any]:
            computed.extend(keys[row] for row in rows)
            return [f"value of {keys[row]}" for row in rows]

        return cache.get_many(keys, compute)

    with ThreadPoolExecutor(len(batches)) as pool:
        found = list(pool.map(ask, batches))
    assert found == [[f"value of {key}" for key in keys] for keys in batches]
    assert sorted(computed) == sorted({key for keys in batches for key in keys})
