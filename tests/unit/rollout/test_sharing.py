"""Which sessions a share holds."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rl_rewriter.rollout.sharing import is_in_share, place_of

SALT = "0f" * 16
shares = st.floats(0.0, 1.0, exclude_min=True)


@given(st.text(min_size=1), shares, shares)
def test_a_greater_share_only_adds_sessions(session: str, one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert not is_in_share(session, SALT, low) or is_in_share(session, SALT, high)


@given(st.text())
def test_a_place_lies_between_0_and_1_and_a_whole_share_holds_all(session: str) -> None:
    assert 0.0 <= place_of(session, SALT) < 1.0
    assert is_in_share(session, SALT, 1.0)


@pytest.mark.parametrize("session", ["a", "\ud800", "会话", "x" * 10_000])
def test_a_session_has_one_place_in_every_process(session: str) -> None:
    call = f"place_of({session!a}, {SALT!r})"
    code = f"from rl_rewriter.rollout.sharing import place_of; print({call})"
    elsewhere = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": "7"},
    )
    assert float(elsewhere.stdout) == place_of(session, SALT)


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
def test_a_share_holds_about_that_part_of_sessions(share: float) -> None:
    n = 20_000
    held = sum(is_in_share(f"session-{number}", SALT, share) for number in range(n))
    assert abs(held / n - share) < 4 * (share * (1 - share) / n) ** 0.5


def test_rollouts_try_other_sessions_first() -> None:
    names = [f"session-{number}" for number in range(20_000)]
    first = {name for name in names if is_in_share(name, "aa", 0.1)}
    second = {name for name in names if is_in_share(name, "bb", 0.1)}
    assert len(first & second) / len(first) == pytest.approx(0.1, abs=0.03)


def test_a_session_without_a_name_is_another_coin_each_time() -> None:
    assert len({place_of("", SALT) for _ in range(10)}) == 10
