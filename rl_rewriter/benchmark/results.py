"""Writes ``results.json``, which sums a run up, and keeps it right while a run goes on."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from rl_rewriter.benchmark.comparison.verdict import verdict_of
from rl_rewriter.evaluation.significance import holm

SCHEMA = 1
_TESTS = ("policy_vs_keep", "policy_vs_best_fixed")


def write_results(
    folder: Path, records: Sequence[Mapping[str, Any]], *, seed: int
) -> dict[str, Any]:
    """Write ``results.json`` as a whole, and return what it holds.

    Args:
        folder: The run's folder.
        records: The collections' objects; p-values are corrected over all of them.
        seed: Seed of the run.
    """
    results = {"schema": SCHEMA, "seed": seed, "collections": corrected_over_run(records)}
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "results.json", results)
    return results


def corrected_over_run(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The same records with Holm's correction of the policy's tests over the collections.

    Each of the two tests is corrected by itself, and verdicts follow the corrected values.
    """
    found = [deepcopy(dict(record)) for record in records]
    for name in _TESTS:
        tests = [record["tests"][name] for record in found if record["tests"][name] is not None]
        for test, p_holm in zip(tests, holm([t["p_value"] for t in tests]), strict=True):
            test["p_holm"] = p_holm
    for record in found:
        versus_keep = record["tests"]["policy_vs_keep"]
        if versus_keep is not None:
            record["arms"]["policy"]["versus_keep"]["p_holm"] = versus_keep["p_holm"]
        record["verdict"] = verdict_of(record)
    return found


def write_json(path: Path, value: Any) -> None:
    """Write JSON, as a whole."""
    # Lone surrogates, which queries may hold, have no UTF-8; JSON's escapes stand for them.
    text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    write_text(path, text)


def write_text(path: Path, text: str) -> None:
    """Write a file as a whole: under another name first, then renamed."""
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(
            handle, "w", encoding="utf-8", errors="backslashreplace", newline="\n"
        ) as file:
            file.write(text)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
