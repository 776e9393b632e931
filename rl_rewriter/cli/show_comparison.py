"""Comparisons as people read them in a terminal, from the objects of ``results.json`` alone."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape

from rl_rewriter.cli.values_table import values_table

_ACTIONS = 8
Record = Mapping[str, Any]


def benchmark(console: Console, results: Record, out: str) -> None:
    """All collections of a run."""
    for record in results["collections"]:
        collection(console, record)
        console.print()
    console.print(f"written to {escape(out)}; rl-rewriter report {escape(out)} makes a page of it")


def collection(console: Console, record: Record) -> None:
    """One collection searched by one retriever, verdict first."""
    console.print(f"[bold]{escape(record['verdict'])}[/bold]")
    console.print(
        f"{escape(record['name'])}: {record['n_queries']} held-out queries, "
        f"{record['n_documents']} documents, {record['metric']}; searched by "
        f"{escape(record['retriever'])}, {_protocol(record)}"
    )
    keep = record["actions"]["keep"]
    console.print(values_table(_contenders(record), keep))
    policy = record["policy"]
    if policy is None:
        return
    for name, test in (
        ("keep", record["tests"]["policy_vs_keep"]),
        ("the best single action", record["tests"]["policy_vs_best_fixed"]),
    ):
        console.print(f"policy against {name}: {_in_words(test)}")
    console.print(
        f"{policy['helped_share']:.0%} of the queries helped, {policy['hurt_share']:.0%} hurt; "
        f"{policy['searches_per_query']:.1f} searches a query"
    )
    shares = list(policy["action_share"].items())[:_ACTIONS]
    console.print(
        "actions taken: " + ", ".join(f"{escape(name)} {part:.0%}" for name, part in shares)
    )


def notes(records: Iterable[Record]) -> None:
    """What a reader should know of each collection, on standard error."""
    for record in records:
        for note in record["notes"]:
            sys.stderr.write(f"note: {record['name']}: {' '.join(note.split())}\n")


def _protocol(record: Record) -> str:
    if record["protocol"] == "split":
        return "held out by the data's own split"
    return f"cross-validated by {record['folds']} folds"


def _contenders(record: Record) -> list[tuple[str, float, str]]:
    fixed, policy = record["best_fixed"], record["policy"]
    rows = [
        ("keep (the query as it is)", record["actions"]["keep"], ""),
        (
            "best single action",
            fixed["value"],
            f"{fixed['action']}, chosen on training queries",
        ),
        ("best action for each query", record["oracle"], "in hindsight"),
    ]
    if policy is not None:
        seeds = len(record["seeds"])
        mean = f", mean of {seeds} seeds" if seeds > 1 else ""
        rows.insert(2, ("policy", policy["value"], f"one action for each query{mean}"))
    return rows


def _in_words(test: Record) -> str:
    low, high = test["ci95"]
    corrected = "" if test["p_holm"] == test["p_value"] else f", corrected {test['p_holm']:.4f}"
    return (
        f"{test['delta']:+.3f} (95% interval {low:+.3f} to {high:+.3f}, "
        f"p = {test['p_value']:.4f}{corrected})"
    )
