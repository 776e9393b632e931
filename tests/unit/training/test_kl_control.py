"""How beta is read, and how it follows the KL."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rl_rewriter.errors import InputError
from rl_rewriter.training.kl_control import KlConfig

AMOUNTS = st.floats(0.0, 1e6)


def test_a_number_fixes_beta() -> None:
    kl = KlConfig.parse("0.25")
    assert (kl.beta, kl.target) == (0.25, None)
    assert kl.adapted(0.25, kl=100.0) == 0.25


def test_adaptive_names_the_kl_to_steer_to() -> None:
    kl = KlConfig.parse("adaptive:0.5")
    assert kl.target == 0.5
    assert kl.beta == KlConfig().beta


@pytest.mark.parametrize("text", ["", "much", "adaptive:", "adaptive:x", "adaptive", "fixed:1"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        KlConfig.parse(text)
    assert str(caught.value) == f'beta must be a number or "adaptive:TARGET", got {text!r}'


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("-1", "beta of the KL term must be finite and >= 0, got -1.0"),
        ("nan", "beta of the KL term must be finite and >= 0, got nan"),
        ("inf", "beta of the KL term must be finite and >= 0, got inf"),
        ("adaptive:-0.5", "target of the KL term must be finite and >= 0, got -0.5"),
        ("adaptive:nan", "target of the KL term must be finite and >= 0, got nan"),
    ],
)
def test_numbers_that_are_no_weight_are_named(text: str, complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        KlConfig.parse(text)
    assert str(caught.value) == complaint


def test_a_negative_rate_is_refused() -> None:
    with pytest.raises(InputError, match="rate of the KL term"):
        KlConfig(rate=-0.1)


def test_an_unknown_direction_is_refused() -> None:
    with pytest.raises(InputError, match="unknown KL direction 'sideways'"):
        KlConfig(direction="sideways")  # type: ignore[arg-type]


@given(beta=AMOUNTS, kl=AMOUNTS, target=AMOUNTS, rate=AMOUNTS)
def test_beta_follows_the_kl_and_never_turns_negative(
    beta: float, kl: float, target: float, rate: float
) -> None:
    adapted = KlConfig(target=target, rate=rate).adapted(beta, kl)
    assert adapted >= 0.0
    if kl >= target:
        assert adapted >= beta
    else:
        assert adapted <= beta


def test_one_step_of_the_adaptation_by_hand() -> None:
    kl = KlConfig(target=0.5, rate=0.1)
    assert kl.adapted(1.0, kl=2.5) == pytest.approx(1.2)
    assert kl.adapted(0.01, kl=0.0) == 0.0
