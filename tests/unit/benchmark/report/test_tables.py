"""Cells of the sortable tables."""

from __future__ import annotations

from rl_rewriter.benchmark.report.arms import Arm, Versus
from rl_rewriter.benchmark.report.record import Kind, Record
from rl_rewriter.benchmark.report.tables import Cell, Table, arms_table, kinds_table, overview_table

BETTER = Versus(0.1, (0.05, 0.15), 0.001, 0.002)


def column(table: Table, heading: str) -> list[Cell]:
    index = table.headings.index(heading)
    return [row[index] for row in table.rows]


def record(name: str = "shop", metric: str = "ndcg@10", versus: Versus | None = BETTER) -> Record:
    return Record(
        name=name,
        retriever="chroma",
        facts={"metric": metric},
        counts={"n_queries": 1200},
        values={"keep": 0.5, "policy": 0.6, "oracle": 0.8},
        versus_keep=versus,
        hurt_share=0.1,
    )


def test_the_overview_leads_to_the_collections() -> None:
    table = overview_table([record("a"), record("b", versus=None)])
    assert [cell.link for cell in column(table, "Collection")] == ["#collection-0", "#collection-1"]
    assert column(table, "Queries")[0] == Cell("1,200", 1200)
    assert column(table, "Policy − keep") == [Cell("+0.100", 0.1, "good"), Cell("–", None)]
    assert column(table, "95% interval")[0] == Cell("+0.050 to +0.150", 0.05)
    assert column(table, "p corrected (Holm)")[0] == Cell("0.0020", 0.002)
    assert "Best single action" not in table.headings  # nobody has one


def test_the_metric_is_a_column_where_there_are_several() -> None:
    assert "Metric" not in overview_table([record(), record()]).headings
    several = overview_table([record(), record(metric="mrr@10")])
    assert [cell.text for cell in column(several, "Metric")] == ["ndcg@10", "mrr@10"]


def test_arms_have_a_column_for_all_that_is_known_of_any() -> None:
    arms = (
        Arm(name="oracle", label="best", value=0.8, versus_keep=BETTER),
        Arm(name="policy", label="policy", value=0.6, ci95=(0.5, 0.7), rates={"cost": 0.01},
            metrics={"ndcg@10": 0.6, "mrr@10": 0.4}, versus_keep=BETTER),
        Arm(name="keep", label="keep", value=0.5, rates={"searches_per_query": 1.0}),
    )  # fmt: skip
    table = arms_table(Record(name="a", retriever="b", facts={"metric": "ndcg@10"}, arms=arms))
    assert table.headings == (
        *("Arm", "Mean ndcg@10", "95% interval", "Arm − keep", "95% interval of the difference"),
        *("p", "p corrected (Holm)", "Searches", "Cost", "mrr@10"),
    )
    assert column(table, "Cost") == [Cell("–", None), Cell("0.010", 0.01), Cell("–", None)]
    assert [cell.tone for cell in column(table, "Arm − keep")] == ["", "good", ""]


def test_kinds_show_what_the_policy_gains_in_each() -> None:
    kinds = (Kind("typos", 3, {"keep": 0.2, "policy": 0.1}, {}), Kind("", 1, {"keep": 0.5}, {}))
    table = kinds_table(Record(name="a", retriever="b", kinds=kinds))
    assert [cell.text for cell in column(table, "Kind")] == ["typos", "(no kind)"]
    assert [cell.text for cell in column(table, "Policy − keep")] == ["−0.100", "–"]
