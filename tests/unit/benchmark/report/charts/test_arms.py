"""Charts of the arms: values, differences to keep, quality against cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from rl_rewriter.benchmark.report.arms import Arm, Versus
from rl_rewriter.benchmark.report.charts.arm_values import arm_values
from rl_rewriter.benchmark.report.charts.chart import Chart, LeftOut
from rl_rewriter.benchmark.report.charts.differences import differences
from rl_rewriter.benchmark.report.charts.frontier import frontier, undominated, with_room
from rl_rewriter.benchmark.report.record import Record
from rl_rewriter.benchmark.report.run_folder import Collection


def collection(*arms: Arm) -> Collection:
    facts, counts = {"metric": "ndcg@10"}, {"n_queries": 20}
    return Collection(Record(name="a", retriever="b", facts=facts, counts=counts, arms=arms))


def arm(name: str, value: float, **values: Any) -> Arm:
    return Arm(name=name, label=name, value=value, **values)


def drawn(chart: Chart | LeftOut) -> Chart:
    assert isinstance(chart, Chart)
    return chart


def data(chart: Chart) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = chart.figure.to_plotly_json()["data"]
    return found


ARMS = (
    arm("oracle", 0.8, ci95=(0.7, 0.9), versus_keep=Versus(0.3, (0.2, 0.4), 0.001, 0.001)),
    arm("policy", 0.6, ci95=(0.5, 0.65), versus_keep=Versus(0.1, (0.05, 0.15), 0.001, 0.001)),
    arm("keep", 0.5),
    arm("<b>move</b>", 0.4, versus_keep=Versus(-0.1, (-0.2, 0.01), 0.2, 0.4)),
)


def test_every_arm_is_a_bar_from_zero_with_its_interval() -> None:
    chart = drawn(arm_values(collection(*ARMS)))
    assert chart.title == "Mean ndcg@10 of every action, 20 held-out queries"
    [bars] = data(chart)
    assert list(bars["x"]) == [0.8, 0.6, 0.5, 0.4]
    assert list(bars["error_x"]["array"]) == pytest.approx([0.1, 0.05, 0.0, 0.0])
    assert list(bars["error_x"]["arrayminus"]) == pytest.approx([0.1, 0.1, 0.0, 0.0])
    layout = chart.figure.to_plotly_json()["layout"]
    assert list(layout["yaxis"]["ticktext"]) == [
        "oracle", "policy", "keep", "&lt;b&gt;move&lt;/b&gt;"
    ]  # fmt: skip
    assert [line["x0"] for line in layout["shapes"]] == [0.5]


def test_only_what_knows_the_judgements_is_hatched() -> None:
    [bars] = data(drawn(arm_values(collection(*ARMS))))
    assert list(bars["marker"]["pattern"]["shape"]) == ["/", "", "", ""]


def test_missing_intervals_are_said() -> None:
    assert "no intervals" in drawn(arm_values(collection(arm("keep", 0.5)))).note
    assert "95% intervals" in drawn(arm_values(collection(*ARMS))).note


def test_differences_leave_keep_out_and_colour_only_what_is_sure() -> None:
    [marks] = data(drawn(differences(collection(*ARMS))))
    assert list(marks["x"]) == [0.3, 0.1, -0.1]
    assert list(marks["marker"]["color"]) == ["var(--oracle)", "var(--helped)", "var(--keep)"]
    assert list(marks["error_x"]["array"]) == pytest.approx([0.1, 0.05, 0.11])


def test_points_that_something_cheaper_and_better_beats_are_not_undominated() -> None:
    points = [(0.0, 0.5), (1.0, 0.4), (2.0, 0.7), (2.0, 0.6), (3.0, 0.7), (4.0, 0.9)]
    assert undominated(points) == [0, 2, 5]
    assert undominated([]) == []


def test_names_do_not_lie_on_each_other() -> None:
    points = [(0.0, 0.5), (0.1, 0.52), (0.9, 0.51), (1.0, 1.0)]
    assert with_room(points) == {1, 2, 3}
    assert with_room([]) == set()


def test_the_frontier_joins_undominated_arms_and_leaves_hindsight_out() -> None:
    arms = (
        arm("oracle", 0.8, rates={"cost": 0.0}),
        arm("policy", 0.6, rates={"cost": 0.02, "llm_calls_per_query": 0.5}),
        arm("keep", 0.5, rates={"cost": 0.0}),
        arm("move", 0.4, rates={"cost": 0.01}),
        arm("unknown", 0.9),
    )
    line, others, named = data(drawn(frontier(collection(*arms))))
    assert (list(line["x"]), list(line["y"])) == ([0.0, 0.02], [0.5, 0.6])
    assert list(others["y"]) == [0.4]
    assert list(named["text"]) == [" policy", " keep"]
    assert "llm calls per query: 0.50" in named["hovertext"][0]


def test_searches_stand_in_for_a_cost_that_is_the_same_for_all() -> None:
    arms = [
        arm(name, value, rates={"cost": 0.0, "searches_per_query": searches})
        for name, value, searches in (("keep", 0.5, 1.0), ("policy", 0.6, 2.5))
    ]
    chart = drawn(frontier(collection(*arms)))
    assert chart.figure.layout.xaxis.title.text == "searches of a query"
    assert list(data(chart)[0]["x"]) == [1.0, 2.5]


@pytest.mark.parametrize("draw", [arm_values, differences, frontier])
def test_a_run_without_arms_leaves_the_chart_out_with_a_reason(draw: Any) -> None:
    found = draw(collection())
    assert isinstance(found, LeftOut)
    assert found.reason.startswith("the run has n")
