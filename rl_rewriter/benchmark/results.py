"""Writes ``results.json``, which sums a run up, and keeps it right while a run goes on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from rl_rewriter.benchmark.comparison.verdict import verdict_of
from rl_rewriter.errors import InputError
from rl_rewriter.evaluation.significance import holm
from rl_rewriter.folders import write_json

SCHEMA = 1
RESULTS = "results.json"
_TESTS = ("policy_vs_keep", "policy_vs_best_fixed")


def write_results(
    folder: Path, records: Sequence[Mapping[str, Any]], *, seed: int
) -> dict[str, Any]:
    """Write ``results.json`` as a whole, and return what it holds.

    Args:
        folder: The run's folder.
        records: The collections' objects; p-values are corrected over all of them.
        seed: Seed of the run.

    Raises:
        InputError: A file of this name is someone else's.
    """
    refuse_foreign(folder)
    results = {"schema": SCHEMA, "seed": seed, "collections": corrected_over_run(records)}
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / RESULTS, results)
    return results


def refuse_foreign(folder: Path) -> None:
    """Leave a file alone that has the name of a run's results and isn't one.

    Raises:
        InputError: There is one.
    """
    path = folder / RESULTS
    try:
        found = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or "schema" not in found:
        raise InputError(
            f"{path} isn't the result of a run and would be overwritten; give another folder, or "
            "delete it"
        )


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
