"""Results as people read them in a terminal; what they say comes from the records alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rl_rewriter.cli.show_blend import weights
from rl_rewriter.cli.show_comparison import collection
from rl_rewriter.cli.show_ladder import ladder, ladder_record
from rl_rewriter.cli.values_table import values_table

if TYPE_CHECKING:
    from rl_rewriter.benchmark.comparison.compared import Compared
    from rl_rewriter.benchmark.workbench import Workbench
    from rl_rewriter.demo.run import DemoResult
    from rl_rewriter.evaluation.headroom import Headroom
    from rl_rewriter.policies.retrieving import Retrieved
    from rl_rewriter.training.report import FitReport

VERDICTS = {
    "nothing_to_learn": "nothing to learn here: nothing is reliably better than keep",
    "one_action_is_enough": "one action for every query is enough: choosing by query adds nothing "
    "that these features can predict",
    "worth_learning": "worth learning: choosing by query beats the best single action",
    "too_small": "too few queries to tell: judge more of them",
}
_BEST_ACTIONS = 8
_KINDS = 12
_EXAMPLES = 4
_SAME = 1e-9


def headroom(console: Console, bench: Workbench, found: Headroom) -> None:
    """What there is to gain."""
    console.print(f"[bold]{VERDICTS[found.verdict]}[/bold]")
    if found.queries_needed is not None:
        console.print(_needed(found))
    elif found.verdict == "too_small":
        console.print(
            f"in these {found.n_queries} even the best action for each query, in hindsight, gains "
            f"less than what is worth having ({found.oracle - found.keep:+.4f})"
        )
    together = "" if found.n_groups == found.n_queries else f" in {found.n_groups} groups"
    console.print(
        f"{escape(bench.name)}: {found.n_queries} queries{together}, {bench.n_documents} "
        f"documents, {bench.reward.metric.name}"
    )
    console.print(values_table(_contenders(found), found.keep))
    if found.differ_share:
        console.print(_about_chance(found))
    console.print(f"actions differ on {found.differ_share:.0%} of the queries; the best of them:")
    ranked = sorted(found.actions.items(), key=lambda entry: -entry[1])[:_BEST_ACTIONS]
    console.print(values_table([(name, value, "") for name, value in ranked], found.keep))
    if len(found.by_kind) > 1:
        console.print("by kind of query, those with most to gain first:")
        console.print(_kinds_table(found))


def _needed(found: Headroom) -> str:
    gain = found.best_fixed - found.keep
    seen = f"what one action seems to gain ({gain:+.3f})" if gain > 0 else "a gain worth having"
    return (
        f"{found.n_queries} queries were judged; about {found.queries_needed} are needed to see "
        f"{seen} four times in five"
    )


def _contenders(found: Headroom) -> list[tuple[str, float, str]]:
    low, high = found.best_fixed_ci95
    rows = [
        ("keep (the query as it is)", found.keep, ""),
        (
            "best single action",
            found.best_fixed,
            f"{found.best_action}, 95% interval {low:.3f} to {high:.3f}",
        ),
        ("best action for each query", found.oracle, "in hindsight, so too good to be reached"),
        ("the same, less chance", found.oracle_corrected, "a low estimate of that ceiling"),
    ]
    if found.predicted is not None and found.predicted_ci95 is not None:
        low, high = found.predicted_ci95
        share = "" if found.predictable is None else f"{found.predictable:.0%} of the gap, "
        note = f"{share}{low:+.3f} to {high:+.3f} over the single one"
        rows.insert(2, ("predicted by the state", found.predicted, note))
    return rows


def _about_chance(found: Headroom) -> str:
    made = (
        "choosing by one half of the relevant documents and scoring by the other"
        if found.oracle_correction == "half_judgements"
        else "a simulation of equally good actions (too few queries have two relevant documents)"
    )
    return f"the best for each query was chosen by its outcome: chance is taken out by {made}"


def _kinds_table(found: Headroom) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 2), header_style="dim")
    table.add_column("kind")
    for heading in ("queries", "keep", "best single", "best for each", "actions differ"):
        table.add_column(heading, justify="right", no_wrap=True)
    room = {kind: row.n * (row.oracle - row.keep) for kind, row in found.by_kind.items()}
    for kind in sorted(room, key=lambda kind: -room[kind])[:_KINDS]:
        row = found.by_kind[kind]
        means = (f"{mean:.3f}" for mean in (row.keep, row.best_fixed, row.oracle))
        table.add_row(escape(kind or "(none)"), str(row.n), *means, f"{row.differ_share:.0%}")
    return table


def train_record(out: Path, report: FitReport) -> dict[str, Any]:
    """The object that ``train --json`` prints."""
    return {
        "schema": 1,
        "out": str(out),
        "policy_version": report.policy_version,
        "algorithm": report.algorithm,
        "seconds": sum(report.seconds.values()),
        "episodes": report.episodes,
        "validation": dict(report.validation),
        "kl": report.kl,
        "ladder": ladder_record(report.ladder),
        "warnings": list(report.warnings),
    }


def train(console: Console, out: Path, report: FitReport) -> None:
    """How training went."""
    value = report.validation
    of_update = f" of update {report.chosen_update}" if report.chosen_update else ""
    is_held_out = report.episodes > 0
    trained = f"{report.n_train} training queries"
    if is_held_out:
        trained += f", {report.episodes} episodes, KL to the reference {report.kl:.2f} nats"
    console.print(
        f"policy {report.policy_version}{of_update} saved to {escape(str(out))}\n"
        f"{'validation queries' if is_held_out else 'by cross-fitting'}: keep {value['keep']:.3f}, "
        f"best single action {value['best_fixed']:.3f}, policy {value['policy']:.3f}\n{trained}"
    )
    ladder(console, report.ladder)
    for warning in report.warnings:
        console.print(f"[yellow]warning:[/yellow] {escape(warning)}")


def demo(console: Console, result: DemoResult) -> None:
    """The whole demo."""
    bench = result.compared.bench
    console.print(
        f"{bench.n_documents} help-centre articles, searched by {bench.retriever.name} with "
        f"{bench.embedder}; "
        f"{len(bench.train)} queries to train on, {len(bench.test)} held out\n"
    )
    room = result.headroom
    console.print("[bold]1. is there anything to learn?[/bold] (training queries, cross-validated)")
    console.print(f"{VERDICTS[room.verdict]}")
    console.print(
        f"keep {room.keep:.3f}, best single action {room.best_fixed:.3f}, "
        f"best action for each query {room.oracle:.3f} in hindsight\n"
    )
    console.print("[bold]2. training[/bold]")
    train(console, Path(result.record["artifacts"]["policy"]), result.fit)
    console.print("\n[bold]3. held-out queries[/bold] (never seen in training)")
    collection(console, result.record)
    _examples(console, result.compared)
    console.print("\nwritten:")
    for name, path in result.record["artifacts"].items():
        console.print(f"  {name}: {escape(path)}")


def decision(
    console: Console, found: Retrieved, views: Mapping[str, float], *, alike: bool = False
) -> None:
    """One decision, explained.

    Args:
        console: Where it is printed.
        found: The decision, and what it led to.
        views: What each view of a learned blend weighed.
        alike: Whether BM25 alone was searched, and counted words spelt alike.
    """
    made = found.decision
    console.print(
        f"[bold]{escape(made.action)}[/bold] (strength {made.strength:g}, reason: {made.reason}, "
        f"policy {made.policy_version})"
    )
    for text, weight in zip(made.rewrite.texts, made.rewrite.weights, strict=True):
        console.print(f"  searched: {weight:.2f} x {escape(text)!r}")
    weights(console, views)
    if made.rewrite.vector is not None and made.strength:
        console.print("  searched by a vector moved from the query's")
    if made.rewrite.lexical_weight:
        what = "BM25 of the query with words spelt alike" if alike else "fused with BM25"
        console.print(f"  {what} at {made.rewrite.lexical_weight:.2g}")
    ranked = sorted(made.preferences.items(), key=lambda entry: -entry[1])[:5]
    console.print("  policy: " + ", ".join(f"{name} {p:.2f}" for name, p in ranked))
    for document in found.ranking.documents():
        title = (document.text or "").splitlines()[:1] or [""]
        console.print(f"  {document.score:.3f}  {escape(document.id)}  {escape(title[0][:80])}")


def _examples(console: Console, found: Compared) -> None:
    keep, policy = found.held_out.of("keep"), found.held_out.of("policy")
    gains = policy - keep
    names = found.actions.names
    order = gains.argsort(kind="stable")
    for heading, rows in (
        ("most helped", [row for row in order[::-1][:_EXAMPLES] if gains[row] > _SAME]),
        ("most hurt", [row for row in order[:_EXAMPLES] if gains[row] < -_SAME]),
    ):
        console.print(f"\n{heading}:{'' if rows else ' none'}")
        for row in rows:
            query = found.queries[row]
            context = f" (after {len(query.history)} turns)" if query.history else ""
            text = query.text if len(query.text) <= 70 else query.text[:67] + "..."
            console.print(
                f"  {keep[row]:.2f} -> {policy[row]:.2f}  "
                f"{escape(text)}{context}  [dim]{escape(names[found.chosen[row]])}[/dim]"
            )
