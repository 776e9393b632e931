"""What the demo does: build, measure the room, train, compare on held-out queries, save."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rl_rewriter.actions.blend import BLEND
from rl_rewriter.benchmark.comparison.choosing import of_columns
from rl_rewriter.benchmark.comparison.compared import Compared
from rl_rewriter.benchmark.comparison.figures import collection_record
from rl_rewriter.benchmark.comparison.files import write_run
from rl_rewriter.benchmark.evaluate import evaluate_checkpoint
from rl_rewriter.benchmark.headroom import headroom_record
from rl_rewriter.benchmark.stores import StoreConfig
from rl_rewriter.benchmark.tables import outcome_source
from rl_rewriter.benchmark.workbench import Workbench, open_workbench
from rl_rewriter.evaluation.headroom import Headroom, headroom
from rl_rewriter.policies.checkpoint import refuse_other_content
from rl_rewriter.rewriter import RLQueryRewriter
from rl_rewriter.serving.limits import Budget
from rl_rewriter.training.config import FitConfig
from rl_rewriter.training.report import FitReport
from rl_rewriter.types import OnProgress


@dataclass(frozen=True, eq=False)
class DemoResult:
    """What a demo run found and wrote.

    Attributes:
        headroom: The room there is, cross-validated on the training queries.
        fit: How training went.
        compared: The comparison on held-out queries.
        record: The collection's object of ``results.json``, with "artifacts".
    """

    headroom: Headroom
    fit: FitReport
    compared: Compared
    record: Mapping[str, Any]


def run_demo(
    out: Path,
    *,
    data: str = "demo",
    seed: int = 0,
    fit: FitConfig = FitConfig(),  # noqa: B008  # frozen
    on_progress: OnProgress | None = None,
) -> DemoResult:
    """Run the main job on the bundled corpus.

    Args:
        out: Folder for the Chroma collection, policy, decision log and results.
        data: "demo" (English) or "demo-zh".
        seed: Seed of training and of all intervals.
        fit: How a policy is trained; its seed and reward are set here.
        on_progress: Told how far each stage is.
    """
    refuse_other_content(out / "policy")
    log = out / "demo-decisions.jsonl"
    started = time.perf_counter()
    bench = open_workbench(data, StoreConfig(folder=out / "chroma"), on_progress=on_progress)
    seconds = {"embed": time.perf_counter() - started}
    log.unlink(missing_ok=True)
    rewriter = RLQueryRewriter(
        bench.retriever,
        actions=bench.actions,
        log=log,
        seed=seed,
        budget=Budget(seconds=None),  # what it shows may not depend on the machine's speed
    )
    report = rewriter.fit(
        bench.train,
        bench.qrels,
        config=replace(fit, reinforce=replace(fit.reinforce, seed=seed), reward=bench.reward),
        groups=bench.groups_of(bench.train),
        outcomes=outcome_source(bench, bench.retriever.statistics(), on_progress),
        on_progress=on_progress,
        metrics_dir=out / "training",
    )
    seconds["train"] = report.seconds["train"]
    checkpoint = rewriter.checkpoint
    if checkpoint is None:
        raise RuntimeError("fit left no checkpoint")
    names = report.table.action_names
    single = [column for column, name in enumerate(names) if name != BLEND]
    room = headroom(
        of_columns(report.table, np.asarray(single)),
        groups=bench.groups_of(bench.train),
        seed=seed,
    )
    compared = evaluate_checkpoint(
        bench,
        checkpoint,
        seed=seed,
        headroom=headroom_record(bench, room),
        on_progress=on_progress,
    )
    rewriter.save(out / "policy")
    record = write_run(out, compared, collection_record(compared, seconds), seed)
    _serve(rewriter, bench, on_progress)
    artifacts = {"policy": str(out / "policy"), "log": str(log), "report": str(_report(out))}
    return DemoResult(room, report, compared, {**record, "artifacts": artifacts})


def _report(out: Path) -> Path:
    """The page of the run, or its figures alone where what makes the page isn't installed."""
    if any(importlib.util.find_spec(package) is None for package in ("plotly", "jinja2")):
        return out / "results.json"
    from rl_rewriter.benchmark.report.page import write_report

    return write_report(out)


def _serve(rewriter: RLQueryRewriter, bench: Workbench, on_progress: OnProgress | None) -> None:
    """Ask every training query as a running chain would, exploring, and log what came of it.

    Not the held-out ones: who learns from this log must not learn from them.
    """
    metric = bench.reward.metric
    for done, query in enumerate(bench.train, start=1):
        found = rewriter.retrieve(query, k=metric.depth, explore=True)
        rewriter.record(found.decision, found.ranking)
        value = metric(found.ranking.ids, bench.qrels[query.id])
        rewriter.feedback(found.decision.id, value, kind=metric.name)
        if on_progress is not None:
            on_progress("serving training queries", done, len(bench.train))
