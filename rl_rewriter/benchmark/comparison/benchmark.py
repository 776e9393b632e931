"""A whole comparison run: every collection with every retriever, resumed where it was left."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from rl_rewriter.actions.llm import failed_answers
from rl_rewriter.benchmark.comparison.compare import compare_arms
from rl_rewriter.benchmark.comparison.figures import Record, collection_record
from rl_rewriter.benchmark.comparison.files import RECORD, write_collection
from rl_rewriter.benchmark.comparison.fits import refuse_without_torch
from rl_rewriter.benchmark.comparison.memory import known_record, remember_record
from rl_rewriter.benchmark.comparison.plan import BenchmarkRequest, Item, plan
from rl_rewriter.benchmark.comparison.workers import Workers
from rl_rewriter.benchmark.folder_lock import hold, release
from rl_rewriter.benchmark.results import refuse_foreign, write_results
from rl_rewriter.benchmark.workbench import (
    Workbench,
    is_generated,
    open_workbench,
    prepared_collection,
    workbench_over,
)
from rl_rewriter.errors import InputError
from rl_rewriter.folders import write_json
from rl_rewriter.retrieval.protocols import Fingerprinted
from rl_rewriter.types import OnProgress


def run_benchmark(
    request: BenchmarkRequest, on_progress: OnProgress | None = None
) -> dict[str, Any]:
    """Compare all arms on every collection with every retriever, and write the run's folder.

    ``results.json`` is written after every collection, so that a killed run leaves what it has
    found; run again, it takes up from there. Where calls of a language model failed, what was found
    is not taken over: these calls are made again. Policies are trained in several processes (see
    :class:`~rl_rewriter.benchmark.comparison.workers.Workers`).

    Args:
        request: What to compare, and where results go.
        on_progress: Told how far each stage of each collection is.

    Returns:
        What ``results.json`` holds.

    Raises:
        InputError: Data are malformed, another run writes to the folder, or its ``results.json`` is
            someone else's.
        CollectionError: A collection cannot be searched.
        MissingExtraError: A package isn't installed.
        TrainingError: Training diverged.
    """
    request.out.mkdir(parents=True, exist_ok=True)
    if not hold(request.out, alone=True):
        raise InputError(f"another run writes to {request.out}; give another folder")
    try:
        refuse_foreign(request.out)
        return _run(request, plan(request), on_progress)
    finally:
        release(request.out)


def _run(
    request: BenchmarkRequest, items: list[Item], on_progress: OnProgress | None
) -> dict[str, Any]:
    found: dict[str, Record] = {}
    for item in items:
        known = None if item.may_change else known_record(item.folder, item.key)
        if known is not None:
            found[item.label] = known
    results = _written(request, items, found) if found else {}
    if request.config.seeds and len(found) < len(items):
        refuse_without_torch()
    with Workers(request.config.n_workers) as workers:
        for item in items:
            if item.label not in found:
                found[item.label] = _compared(item, request, workers, on_progress)
                results = _written(request, items, found)
    return results


def _written(
    request: BenchmarkRequest, items: list[Item], found: dict[str, Record]
) -> dict[str, Any]:
    """Write what is found so far, in the order that was asked for."""
    done = [item for item in items if item.label in found]
    results = write_results(
        request.out, [found[item.label] for item in done], seed=request.config.seed
    )
    for item, record in zip(done, results["collections"], strict=True):
        if record != found[item.label]:  # p-values were corrected over other collections before
            write_json(item.folder / RECORD, record)
            found[item.label] = record
    return results


def _compared(
    item: Item, request: BenchmarkRequest, workers: Workers, on_progress: OnProgress | None
) -> Record:
    """Open, compare and write one collection."""

    def tell(stage: str, done: int, total: int) -> None:
        if on_progress is not None:
            on_progress(f"{item.label}: {stage}", done, total)

    started = time.perf_counter()
    bench, order = _opened(item, request, tell)
    seconds = {"embed": time.perf_counter() - started}
    key = _key(item, bench)
    known = known_record(item.folder, key) if key is not None else None
    if known is not None:
        return known
    compared = compare_arms(
        bench,
        request.config,
        order=order,
        fits_dir=item.folder / "fits",
        workers=workers,
        on_progress=tell,
    )
    record = collection_record(compared, seconds)
    write_collection(item.folder, compared, record)
    if key is not None and not any(failed_answers(action) for action in bench.actions):
        remember_record(item.folder, key)
    return record


def _opened(
    item: Item, request: BenchmarkRequest, on_progress: OnProgress
) -> tuple[Workbench, Mapping[str, int]]:
    """The workbench with all actions, and the order of the collection's queries."""
    metric, sources = request.config.metric, request.sources
    if is_generated(item.data):
        bench = open_workbench(
            item.data,
            item.store,
            metric=metric,
            limit_queries=request.limit_queries,
            sources=sources,
            on_progress=on_progress,
        )
        return bench, {}
    collection = prepared_collection(item.data, item.store, request.limit_queries, sources)
    bench = workbench_over(
        collection, item.store, metric=metric, sources=sources, on_progress=on_progress
    )
    return bench, {query.id: place for place, query in enumerate(collection.queries)}


def _key(item: Item, bench: Workbench) -> Mapping[str, Any] | None:
    """All that figures depend on; None where it can't be told what a user's own searches."""
    if not item.may_change:
        return item.key
    if not isinstance(bench.retriever, Fingerprinted):
        return None
    fingerprint = bench.retriever.fingerprint()
    return None if fingerprint is None else {**item.key, "fingerprint": fingerprint}
