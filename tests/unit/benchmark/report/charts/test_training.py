"""Charts of training: reward, KL, and one against the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from rl_rewriter.benchmark.report.charts.chart import Chart, LeftOut
from rl_rewriter.benchmark.report.charts.training import kl_curve, reward_against_kl, reward_curve
from rl_rewriter.benchmark.report.looks import Curve, Look
from rl_rewriter.benchmark.report.record import Record
from rl_rewriter.benchmark.report.run_folder import Collection


def collection(*curves: Curve) -> Collection:
    return Collection(Record(name="a", retriever="b"), curves=curves)


def drawn(chart: Chart | LeftOut) -> list[Mapping[str, Any]]:
    assert isinstance(chart, Chart)
    found: list[Mapping[str, Any]] = chart.figure.to_plotly_json()["data"]
    return found


FIRST = Curve("fold 0", (Look(10, 0.1, 1.0), Look(20, 0.3, 2.0)))
SECOND = Curve("fold 1", (Look(10, 0.3, 1.5), Look(20, 0.5, None), Look(30, 0.7, 3.0)))


def test_runs_are_thin_lines_under_the_mean_of_what_all_of_them_reached() -> None:
    chart = reward_curve(collection(FIRST, SECOND))
    runs, mean = drawn(chart)
    assert list(runs["x"]) == [10.0, 20.0, None, 10.0, 20.0, 30.0, None]
    assert list(runs["y"]) == [0.1, 0.3, None, 0.3, 0.5, 0.7, None]
    assert (list(mean["x"]), list(mean["y"])) == ([10.0, 20.0], [0.2, 0.4])
    assert chart.title.endswith(", 2 runs")


def test_a_single_run_is_one_line() -> None:
    chart = kl_curve(collection(FIRST))
    [line] = drawn(chart)
    assert list(line["y"]) == [1.0, 2.0]
    assert chart.title.endswith(", 1 run")


def test_runs_without_a_common_update_are_averaged_where_they_are() -> None:
    early, late = Curve("a", (Look(1, 0.1, None),)), Curve("b", (Look(2, 0.3, None),))
    mean = drawn(reward_curve(collection(early, late)))[-1]
    assert (list(mean["x"]), list(mean["y"])) == ([1.0, 2.0], [0.1, 0.3])


def test_only_looks_with_both_numbers_stand_in_the_scatter() -> None:
    chart = reward_against_kl(collection(FIRST, SECOND))
    [marks] = drawn(chart)
    assert list(zip(marks["x"], marks["y"], strict=True)) == [
        (1.0, 0.1),
        (2.0, 0.3),
        (1.5, 0.3),
        (3.0, 0.7),
    ]
    assert chart.title == "Validation reward against KL, 4 looks"


@pytest.mark.parametrize("draw", [reward_curve, kl_curve, reward_against_kl])
def test_without_curves_the_chart_is_left_out(draw: Any) -> None:
    for curves in ((), (Curve("a", (Look(1, None, None),)),)):
        found = draw(collection(*curves))
        assert isinstance(found, LeftOut)
        assert found.reason.startswith("the run has no training.jsonl with")
