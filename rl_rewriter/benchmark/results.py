"""Writes what a run found: ``results.json``, per-query values, a TREC run file."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rl_rewriter.benchmark.evaluate import Evaluation, percentile
from rl_rewriter.errors import MissingExtraError
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.types import Vector

RUN_DEPTH = 100


def collection_record(
    evaluation: Evaluation, seconds: Mapping[str, float] | None = None
) -> dict[str, Any]:
    """One collection's object of ``results.json``.

    Args:
        evaluation: What was found.
        seconds: Wall time of earlier stages, such as "embed" and "train".
    """
    bench, found = evaluation.bench, evaluation.held_out
    timing = {"embed": 0.0, "train": 0.0, **evaluation.seconds, **(seconds or {})}
    return {
        "name": bench.name,
        "n_documents": bench.n_documents,
        "n_queries": len(evaluation.queries),
        "retriever": bench.retriever.name,
        "embedder": bench.embedder,
        "metric": bench.reward.metric.name,
        "protocol": "split",
        "actions": dict(found.means),
        "best_fixed": {
            "action": found.best_fixed_action,
            "value": float(found.best_fixed.mean()),
        },
        "policy": {
            "value": float(found.policy.mean()),
            "hurt_share": found.versus_keep.hurt_share,
            "helped_share": found.versus_keep.helped_share,
            "action_share": dict(found.action_share),
            "searches_per_query": float(np.mean(evaluation.searches)),
            "llm_calls_per_query": float(np.mean([r.llm_calls for r in evaluation.rewrites])),
        },
        "oracle": float(found.oracle.mean()),
        "tests": {
            "policy_vs_keep": found.versus_keep.to_json(),
            "policy_vs_best_fixed": found.versus_best_fixed.to_json(),
        },
        "seconds": {
            **{stage: round(value, 3) for stage, value in timing.items()},
            "decide_p50_ms": percentile(evaluation.decide_ms, 50),
            "decide_p95_ms": percentile(evaluation.decide_ms, 95),
        },
    }


def write_run(
    folder: Path,
    evaluation: Evaluation,
    checkpoint: Checkpoint,
    record: Mapping[str, Any],
    seed: int,
) -> None:
    """Write ``results.json``, ``per_query.parquet`` and ``policy.run`` into a folder.

    Raises:
        MissingExtraError: pyarrow isn't installed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _write_per_query(folder / "per_query.parquet", evaluation)
    write_text(folder / "policy.run", "\n".join(_trec_lines(evaluation, checkpoint)) + "\n")
    results = {"schema": 1, "seed": seed, "collections": [record]}
    write_text(folder / "results.json", json.dumps(results, ensure_ascii=False, indent=2) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a file as a whole: under another name first, then renamed."""
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _write_per_query(path: Path, evaluation: Evaluation) -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("pyarrow", "report") from error
    bench, found, queries = evaluation.bench, evaluation.held_out, evaluation.queries
    names = np.asarray(evaluation.table.action_names)
    columns: dict[str, Any] = {
        "query_id": [query.id for query in queries],
        "query": [query.text for query in queries],
        "history_len": [len(query.history) for query in queries],
        "group": bench.groups_of(queries),
        "kind": [bench.kinds.get(query.id, "") for query in queries],
        "action": names[found.chosen].tolist(),
        "keep": found.keep,
        "best_fixed": found.best_fixed,
        "policy": found.policy,
        "oracle": found.oracle,
    }
    temporary = path.with_name(f".{path.name}-{os.getpid()}")
    parquet.write_table(pyarrow.table(columns), temporary)
    temporary.replace(path)


def _trec_lines(evaluation: Evaluation, checkpoint: Checkpoint) -> list[str]:
    rankings = evaluation.bench.retriever.search(
        evaluation.rewrites,
        k=RUN_DEPTH,
        filters=[query.filters for query in evaluation.queries],
    )
    return [
        f"{query.id} Q0 {id_} {rank} {score:.6f} {checkpoint.policy.name}"
        for query, ranking in zip(evaluation.queries, rankings, strict=True)
        for rank, (id_, score) in enumerate(
            zip(ranking.ids, _without_ties(ranking.scores), strict=True), start=1
        )
    ]


def _without_ties(scores: Vector) -> list[float]:
    """Scores that fall from rank to rank: evaluation tools order ties by a rule of their own."""
    falling: list[float] = []
    for score in scores.tolist():
        if falling:
            above = falling[-1]
            score = min(score, above - 2e-6 * max(1.0, abs(above)))
        falling.append(score)
    return falling
