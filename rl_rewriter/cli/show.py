"""Results as people read them in a terminal; what they say comes from the records alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from rl_rewriter.benchmark.evaluate import Evaluation
    from rl_rewriter.benchmark.workbench import Workbench
    from rl_rewriter.demo.run import DemoResult
    from rl_rewriter.evaluation.comparison import Comparison
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
_EXAMPLES = 4


def headroom(console: Console, bench: Workbench, found: Headroom) -> None:
    """What there is to gain."""
    console.print(f"[bold]{VERDICTS[found.verdict]}[/bold]")
    console.print(
        f"{escape(bench.name)}: {found.n_queries} queries, {bench.n_documents} documents, "
        f"{bench.reward.metric.name}"
    )
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
    if found.predicted is not None:
        share = "" if found.predictable is None else f"{found.predictable:.0%} of the gap"
        rows.insert(2, ("predicted by the state", found.predicted, share))
    console.print(_values_table(rows, found.keep))
    console.print(f"actions differ on {found.differ_share:.0%} of the queries; the best of them:")
    ranked = sorted(found.actions.items(), key=lambda entry: -entry[1])[:_BEST_ACTIONS]
    console.print(_values_table([(name, value, "") for name, value in ranked], found.keep))


def train_record(out: Path, algorithm: str, report: FitReport) -> dict[str, Any]:
    """The object that ``train --json`` prints."""
    return {
        "schema": 1,
        "out": str(out),
        "policy_version": report.policy_version,
        "algorithm": algorithm,
        "seconds": sum(report.seconds.values()),
        "episodes": report.episodes,
        "validation": dict(report.validation),
        "kl": report.kl,
        "warnings": list(report.warnings),
    }


def train(console: Console, out: Path, report: FitReport) -> None:
    """How training went."""
    value = report.validation
    console.print(
        f"policy {report.policy_version} of update {report.chosen_update} saved to {out}\n"
        f"validation queries: keep {value['keep']:.3f}, best single action "
        f"{value['best_fixed']:.3f}, policy {value['policy']:.3f}\n"
        f"{report.n_train} training queries, {report.episodes} episodes, "
        f"KL to the reference {report.kl:.2f} nats"
    )
    for warning in report.warnings:
        console.print(f"[yellow]warning:[/yellow] {escape(warning)}")


def evaluation(console: Console, found: Evaluation) -> None:
    """The comparison on held-out queries, verdict first."""
    held_out, bench = found.held_out, found.bench
    console.print(f"[bold]{verdict(found)}[/bold]")
    console.print(
        f"{escape(bench.name)}: {len(found.queries)} held-out queries, {bench.n_documents} "
        f"documents, {bench.reward.metric.name}"
    )
    if found.n_left_out:
        console.print(f"{found.n_left_out} more were left out: the policy was trained on them")
    rows = [
        ("keep (the query as it is)", float(held_out.keep.mean()), ""),
        (
            "best single action",
            float(held_out.best_fixed.mean()),
            f"{held_out.best_fixed_action}, chosen on training queries",
        ),
        ("policy", float(held_out.policy.mean()), "one action for each query"),
        ("best action for each query", float(held_out.oracle.mean()), "in hindsight"),
    ]
    console.print(_values_table(rows, rows[0][1]))
    for name, comparison in (
        ("keep", held_out.versus_keep),
        ("the best single action", held_out.versus_best_fixed),
    ):
        console.print(f"policy against {name}: {_in_words(comparison)}")
    shares = ", ".join(
        f"{name} {share:.0%}" for name, share in list(held_out.action_share.items())[:_BEST_ACTIONS]
    )
    console.print(f"actions taken: {shares}")


def verdict(found: Evaluation) -> str:
    """The one sentence that a reader should take away."""
    versus_keep, versus_fixed = found.held_out.versus_keep, found.held_out.versus_best_fixed
    if versus_keep.ci95[1] < 0:
        return "the policy is worse than leaving queries alone: don't deploy it"
    if versus_keep.ci95[0] <= 0 or versus_keep.p_value >= 0.05:
        return "no gain: the policy isn't reliably better than leaving queries alone"
    if versus_fixed.ci95[0] > 0:
        return "the policy beats leaving queries alone, and one action for all of them"
    if versus_fixed.ci95[1] < 0:
        return "better than leaving queries alone, but one action for all does better still"
    return "the policy beats leaving queries alone; one action for all does about as well"


def demo(console: Console, result: DemoResult) -> None:
    """The whole demo."""
    bench = result.evaluation.bench
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
    console.print("[bold]2. training[/bold] (REINFORCE with a KL term to mostly keep)")
    train(console, Path(result.record["artifacts"]["policy"]), result.fit)
    console.print("\n[bold]3. held-out queries[/bold] (never seen in training)")
    evaluation(console, result.evaluation)
    _examples(console, result.evaluation)
    console.print("\nwritten:")
    for name, path in result.record["artifacts"].items():
        console.print(f"  {name}: {escape(path)}")


def decision(console: Console, found: Retrieved) -> None:
    """One decision, explained."""
    made = found.decision
    console.print(
        f"[bold]{escape(made.action)}[/bold] (strength {made.strength:g}, reason: {made.reason}, "
        f"policy {made.policy_version})"
    )
    for text, weight in zip(made.rewrite.texts, made.rewrite.weights, strict=True):
        console.print(f"  searched: {weight:.2f} x {escape(text)!r}")
    if made.rewrite.vector is not None and made.strength:
        console.print("  searched by a vector moved from the query's")
    if made.rewrite.lexical_weight:
        console.print(f"  fused with BM25 at {made.rewrite.lexical_weight:g}")
    ranked = sorted(made.preferences.items(), key=lambda entry: -entry[1])[:5]
    console.print("  policy: " + ", ".join(f"{name} {p:.2f}" for name, p in ranked))
    for document in found.ranking.documents():
        title = (document.text or "").splitlines()[:1] or [""]
        console.print(f"  {document.score:.3f}  {escape(document.id)}  {escape(title[0][:80])}")


def _examples(console: Console, found: Evaluation) -> None:
    gains = found.held_out.policy - found.held_out.keep
    names = found.table.action_names
    for heading, rows in (
        ("most helped", (-gains).argsort(kind="stable")[:_EXAMPLES]),
        ("most hurt", gains.argsort(kind="stable")[:_EXAMPLES]),
    ):
        console.print(f"\n{heading}:")
        for row in rows:
            query = found.queries[row]
            context = f" (after {len(query.history)} turns)" if query.history else ""
            text = query.text if len(query.text) <= 70 else query.text[:67] + "..."
            console.print(
                f"  {found.held_out.keep[row]:.2f} -> {found.held_out.policy[row]:.2f}  "
                f"{escape(text)}{context}  [dim]{names[found.held_out.chosen[row]]}[/dim]"
            )


def _values_table(rows: list[tuple[str, float, str]], keep: float) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 2), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True, min_width=5)
    table.add_column(justify="right", no_wrap=True, min_width=6)
    table.add_column(style="dim")
    for name, value, note in rows:
        gain = f"{(value - keep) / keep:+.1%}" if keep > 0 and value != keep else ""
        table.add_row(escape(name), f"{value:.3f}", gain, escape(note))
    return table


def _in_words(comparison: Comparison) -> str:
    low, high = comparison.ci95
    return (
        f"{comparison.delta:+.3f} (95% interval {low:+.3f} to {high:+.3f}, p = "
        f"{comparison.p_value:.4f}); {comparison.helped_share:.0%} of the queries helped, "
        f"{comparison.hurt_share:.0%} hurt"
    )
