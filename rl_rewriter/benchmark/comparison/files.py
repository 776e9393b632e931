"""What a comparison leaves in the folder of one collection."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rl_rewriter.benchmark.arm_names import BEST_FIXED, KEEP, ORACLE, POLICY, RANDOM
from rl_rewriter.benchmark.comparison.compared import Compared
from rl_rewriter.benchmark.comparison.examples import examples_of
from rl_rewriter.benchmark.comparison.trec import run_lines
from rl_rewriter.benchmark.results import refuse_foreign, write_results
from rl_rewriter.errors import MissingExtraError
from rl_rewriter.folders import write_json, write_text

RUN_FILES = (KEEP, BEST_FIXED, POLICY, ORACLE)
PER_QUERY, TRAINING, EXAMPLES = "per_query.parquet", "training.jsonl", "examples.json"
FILES = (PER_QUERY, TRAINING, EXAMPLES, *(f"runs/{arm}.run" for arm in RUN_FILES))
"""What may lie beside the record."""
RECORD = "record.json"
KEY = "key.json"
"""Says what a folder's files follow from (see :mod:`rl_rewriter.benchmark.comparison.memory`)."""


def write_run(
    folder: Path, compared: Compared, record: Mapping[str, Any], seed: int
) -> dict[str, Any]:
    """Write a run of one collection, and return its object of ``results.json``.

    Args:
        folder: The run's folder.
        compared: What was found.
        record: Its object.
        seed: Seed of the run.

    Raises:
        InputError: The folder's ``results.json`` is someone else's.
        MissingExtraError: pyarrow isn't installed.
    """
    refuse_foreign(folder)
    name = free_name(f"{record['name']}.{record['retriever']}", set())
    write_collection(folder / name, compared, record)
    [written] = write_results(folder, [record], seed=seed)["collections"]
    found: dict[str, Any] = written
    return found


def write_collection(folder: Path, compared: Compared, record: Mapping[str, Any]) -> None:
    """Write everything about one collection, its record last.

    Args:
        folder: The collection's folder within the run's, made where it isn't there.
        compared: What was found.
        record: Its object of ``results.json``.

    Raises:
        MissingExtraError: pyarrow isn't installed.
    """
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    (folder / KEY).unlink(missing_ok=True)  # from now on the files don't belong together
    _write_per_query(folder / PER_QUERY, compared)
    looks = () if compared.policies is None else compared.policies.looks
    write_lines(folder / TRAINING, (json.dumps(look) for look in looks))
    write_json(folder / EXAMPLES, examples_of(compared))
    for arm in RUN_FILES:
        choices = compared.held_out.choices.get(arm)
        path = folder / "runs" / f"{arm}.run"
        if choices is None:
            path.unlink(missing_ok=True)
        else:
            write_text(path, "".join(run_lines(compared.outcomes, choices[0], arm)))
    write_json(folder / RECORD, record)


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines; no file where there are none."""
    text = "".join(f"{line}\n" for line in lines)
    if text:
        write_text(path, text)
    else:
        path.unlink(missing_ok=True)


def _write_per_query(path: Path, compared: Compared) -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("pyarrow", "report") from error
    temporary = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        parquet.write_table(pyarrow.table(_columns(compared)), temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _columns(compared: Compared) -> dict[str, Any]:
    """One entry a held-out query; what the policy did is that of its first seed."""
    held_out, queries = compared.held_out, compared.queries
    rows, names = np.arange(len(queries)), np.asarray(compared.actions.names, dtype=object)
    policies = compared.policies
    efforts = compared.efforts_alone if policies is None else compared.efforts
    arms = [KEEP, BEST_FIXED, *([] if policies is None else [POLICY]), ORACLE, RANDOM]
    return {
        "query_id": [_writable(query.id) for query in queries],
        "query": [_writable(query.text) for query in queries],
        "history_len": [len(query.history) for query in queries],
        "group": [_writable(group) for group in compared.bench.groups_of(queries)],
        "kind": [_writable(kind) for kind in compared.kinds],
        "fold": compared.fold,
        "action": names[compared.chosen].tolist(),
        "action_probability": np.ones(len(queries)) if policies is None else policies.probability,
        **{arm: held_out.of(arm) for arm in arms},
        "predicted_gain": compared.predicted_gain,
        "text": [_writable(rewrite.text) for rewrite in compared.rewrites],
        "searches": efforts.searches[rows, compared.chosen].astype(np.int64),
        "embedded": efforts.embedded[rows, compared.chosen].astype(np.int64),
        "llm_calls": efforts.llm_calls[rows, compared.chosen].astype(np.int64),
    }


def _writable(text: str) -> str:
    """Lone surrogates have no UTF-8: each becomes a replacement character."""
    return text.encode("utf-8", "replace").decode("utf-8")


def free_name(name: str, taken: set[str]) -> str:
    """A name for a folder that isn't taken: letters, digits, dots, dashes and underscores."""
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in name)
    safe = safe.strip(".-")[:100] or "collection"
    number = 2
    free = safe
    while free in taken:
        free, number = f"{safe}-{number}", number + 1
    return free
