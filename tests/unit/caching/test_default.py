"""Which cache does a process use, and how is it switched off?"""

from __future__ import annotations

import pytest

from rl_rewriter.caching import default
from rl_rewriter.caching.config import CacheConfig
from rl_rewriter.caching.default import SWITCH, chosen_cache, default_cache, use_cache
from rl_rewriter.caching.store import ServingCache


@pytest.fixture(autouse=True)
def _nothing_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(default, "_chosen", [])
    monkeypatch.delenv(SWITCH, raising=False)


def test_everything_shares_one_cache_of_a_day() -> None:
    cache = default_cache()
    assert cache is not None
    assert cache is default_cache()
    assert cache.config == CacheConfig()


def test_bounds_a_cache_or_none_can_be_chosen() -> None:
    use_cache(CacheConfig(seconds=60.0))
    assert (cache := default_cache()) is not None
    assert cache.config.seconds == 60.0
    own = ServingCache()
    use_cache(own)
    assert default_cache() is own
    use_cache(None)
    assert default_cache() is None


@pytest.mark.parametrize(
    ("value", "is_on"),
    [
        *((value, False) for value in ("0", "off", " No ", "FALSE")),
        *((value, True) for value in ("1", "", "on")),
    ],
)
def test_the_environment_switches_it_off(
    monkeypatch: pytest.MonkeyPatch, value: str, is_on: bool
) -> None:
    monkeypatch.setenv(SWITCH, value)
    assert (default_cache() is not None) is is_on
    use_cache(ServingCache())
    assert (default_cache() is not None) is is_on


def test_a_caller_says_which_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    own = ServingCache()
    assert chosen_cache("shared") is default_cache()
    assert chosen_cache(own) is own
    assert chosen_cache(None) is None
    assert (bounded := chosen_cache(CacheConfig(seconds=60.0))) is not None
    assert bounded.config.seconds == 60.0
    monkeypatch.setenv(SWITCH, "0")
    assert [chosen_cache(each) for each in ("shared", own, CacheConfig())] == [None] * 3
