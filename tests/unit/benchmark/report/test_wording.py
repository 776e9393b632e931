"""Numbers and data as text."""

from __future__ import annotations

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rl_rewriter.benchmark.report import wording
from rl_rewriter.benchmark.report.arms import Versus


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.08312, "+0.083"), (-0.08312, "−0.083"), (-0.0001, "0.000"), (0.0, "0.000"), (None, "–")],
)
def test_a_difference_has_a_sign_unless_it_is_zero(number: float | None, text: str) -> None:
    assert wording.signed(number) == text


def test_values_shares_and_intervals() -> None:
    assert wording.value(0.70649) == "0.706"
    assert wording.value(-0.0001) == "0.000"
    assert wording.percent(0.124) == "12%"
    assert wording.percent(0.004) == "0.4%"
    assert wording.percent(0.0) == "0%"
    assert wording.interval((-0.01, 0.02), plus=True) == "−0.010 to +0.020"
    assert wording.interval((0.1, 0.2)) == "0.100 to 0.200"
    assert wording.value(None) == wording.percent(None) == wording.interval(None) == "–"


@pytest.mark.parametrize(
    ("p", "text"),
    [(0.5, "0.500"), (0.0312, "0.031"), (0.00009999, "0.0001"), (1e-9, "< 0.0001"), (None, "–")],
)
def test_p_values_are_as_exact_as_they_can_be(p: float | None, text: str) -> None:
    assert wording.p_value(p) == text


def test_a_difference_is_told_with_all_that_is_known_of_it() -> None:
    assert wording.difference(Versus(0.1)) == "+0.100"
    told = wording.difference(Versus(0.1, (0.05, 0.15), 0.02, 0.04))
    assert (
        told == "+0.100 (95% interval +0.050 to +0.150, p = 0.020, corrected over the run = 0.040)"
    )
    same = wording.difference(Versus(0.1, None, 0.02, 0.02))
    assert same == "+0.100 (p = 0.020)"


@given(st.text())
def test_a_chart_label_has_no_markup_and_says_what_the_data_say(text: str) -> None:
    label = wording.label(text, 40)
    assert not set(label) & set("<>")
    said = html.unescape(label)
    plain = " ".join(text.split())
    if html.unescape(plain) == plain:  # else unescaping here would go one step too far
        assert said == plain or (said.endswith("…") and plain.startswith(said[:-1]))
    assert len(said) <= 40


def test_entities_in_data_stay_what_they_were() -> None:
    assert wording.label("a &lt;b&gt; <i>") == "a &amp;lt;b&amp;gt; &lt;i&gt;"
