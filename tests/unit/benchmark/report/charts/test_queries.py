"""Charts of the queries: gains, action shares, calibration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rl_rewriter.benchmark.report.charts.action_shares import action_shares
from rl_rewriter.benchmark.report.charts.calibration import calibration
from rl_rewriter.benchmark.report.charts.chart import Chart, LeftOut
from rl_rewriter.benchmark.report.charts.gains import gains
from rl_rewriter.benchmark.report.per_query import PerQuery
from rl_rewriter.benchmark.report.record import Bin, Kind, Record
from rl_rewriter.benchmark.report.run_folder import Collection


def record(**values: Any) -> Record:
    return Record(name="a", retriever="b", facts={"metric": "ndcg@10"}, **values)


def drawn(chart: Chart | LeftOut) -> list[Mapping[str, Any]]:
    assert isinstance(chart, Chart)
    found: list[Mapping[str, Any]] = chart.figure.to_plotly_json()["data"]
    return found


def per_query(policy: list[float], **texts: list[str]) -> PerQuery:
    numbers = {"keep": np.full(len(policy), 0.5), "policy": np.asarray(policy)}
    return PerQuery(texts, numbers, len(policy))


# Gains


def test_queries_fall_from_the_greatest_gain_to_the_greatest_loss() -> None:
    policy = [0.5, 0.1, 1.0, 0.75, float("nan"), 0.4]
    found = per_query(policy, query=list("abcdef"), action=["<i>"] * 6)
    chart = gains(Collection(record(), found))
    helped, same, hurt = drawn(chart)
    assert (list(helped["x"]), list(helped["y"])) == ([1, 2], [0.5, 0.25])
    assert (list(same["x"]), list(same["y"])) == ([3], [0.0])
    assert (list(hurt["x"]), list(hurt["y"])) == ([4, 5], [-0.1, -0.4])
    assert list(helped["hovertext"]) == ["+0.500<br>c<br>&lt;i&gt;", "+0.250<br>d<br>&lt;i&gt;"]
    assert isinstance(chart, Chart)
    assert chart.summary == "2 queries helped (40%), 2 hurt (40%), 1 the same"


def test_gains_are_left_out_where_values_are_missing() -> None:
    only_keep = PerQuery({}, {"keep": np.array([0.5])}, 1)
    nowhere = per_query([float("nan")])
    for found, reason in (
        (None, "the run has no per_query.parquet"),
        (only_keep, "per_query.parquet has no columns 'policy' and 'keep'"),
        (nowhere, "per_query.parquet has no query with both values"),
    ):
        chart = gains(Collection(record(), found))
        assert isinstance(chart, LeftOut)
        assert chart.reason == reason


# Action shares


def test_each_kind_is_a_row_below_all_queries_and_keep_comes_first() -> None:
    kinds = (
        Kind("typos", 15, {}, {"keep": 0.4, "move": 0.6}),
        Kind("short", 5, {}, {"keep": 1.0}),
    )
    share = {"move": 0.45, "keep": 0.55}
    chart = action_shares(
        Collection(record(action_share=share, kinds=kinds, counts={"n_queries": 20}))
    )
    keep, move = drawn(chart)
    assert list(keep["x"]) == [0.55, 0.4, 1.0]
    assert list(move["x"]) == [0.45, 0.6, 0.0]
    assert isinstance(chart, Chart)
    assert chart.legend == (("keep", "keep"), ("move", "series-1"))
    assert list(chart.figure.layout.yaxis.ticktext) == [
        "all queries (n = 20)",
        "typos (n = 15)",
        "short (n = 5)",
    ]


def test_rare_actions_are_one_part_and_every_row_is_whole() -> None:
    share = {f"action {i}": (i + 1) / 55 for i in range(10)}
    traces = drawn(action_shares(Collection(record(action_share=share))))
    assert len(traces) == 1 + 8 + 1  # keep, eight by name, the rest
    assert abs(sum(trace["x"][0] for trace in traces) - 1.0) < 1e-4
    assert traces[-1]["x"][0] == round(3 / 55, 5)


def test_without_shares_the_chart_is_left_out() -> None:
    assert isinstance(action_shares(Collection(record())), LeftOut)


# Calibration


def test_each_bin_is_a_mark_with_the_interval_of_its_true_gain() -> None:
    bins = (Bin(-0.1, 0.0, 4, (-0.05, 0.1)), Bin(0.2, 0.3, 6))
    chart = calibration(Collection(record(calibration=bins)))
    diagonal, marks = drawn(chart)
    assert list(diagonal["x"]) == list(diagonal["y"]) == [-0.1, 0.2]
    assert (list(marks["x"]), list(marks["y"])) == ([-0.1, 0.2], [0.0, 0.3])
    assert list(marks["error_y"]["array"]) == [0.1, 0.0]
    assert list(marks["error_y"]["arrayminus"]) == [0.05, 0.0]
    assert chart.title == "Predicted against true gain, 10 queries in 2 bins"
    assert isinstance(calibration(Collection(record())), LeftOut)
