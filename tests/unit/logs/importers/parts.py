"""Exports as the tools write them, small, and what an import makes of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rl_rewriter.logs.importers.import_logs import ImportConfig, import_logs
from rl_rewriter.logs.importers.report import ImportReport
from rl_rewriter.logs.store import read_records

QUESTION = "how do I get my money back?"
START = 1_767_225_600.0
"""2026-01-01 00:00:00 UTC, when all retrievals here begin; each takes half a second."""

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Imported:
    """A finished import.

    Attributes:
        report: What it says.
        log: The file it wrote.
    """

    report: ImportReport
    log: Path

    @property
    def decisions(self) -> list[dict[str, Any]]:
        return [record for record in read_records(self.log) if record["type"] == "decision"]

    @property
    def feedback(self) -> list[dict[str, Any]]:
        return [record for record in read_records(self.log) if record["type"] == "feedback"]

    @property
    def decision(self) -> dict[str, Any]:
        """The only one."""
        [record] = self.decisions
        return record

    def verdicts(self, name: str) -> list[tuple[str, float]]:
        """Kinds and values of the feedback on one decision."""
        return [(f["kind"], f["value"]) for f in self.feedback if f["decision_id"] == name]


def write_lines(path: Path, rows: Rows) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def import_rows(
    folder: Path, tool: str, rows: Rows, feedback: Rows = (), **settings: Any
) -> Imported:
    """Import rows as JSON lines, feedback from a file of its own."""
    export = write_lines(folder / "export.jsonl", rows)
    others = [write_lines(folder / "feedback.jsonl", feedback)] if feedback else []
    return import_file(folder, tool, export, feedback=others, **settings)


def import_file(
    folder: Path, tool: str, export: Path, feedback: Sequence[Path] = (), **settings: Any
) -> Imported:
    out = folder / "log.jsonl"
    config = ImportConfig(tool=tool, **settings)
    return Imported(import_logs([export], out, config, feedback=feedback), out)


def run(
    id_: str, kind: str = "retriever", parent: str | None = None, **fields: Any
) -> dict[str, Any]:
    """A LangSmith run; a retriever's found documents "a" and "b"."""
    retrieved = {
        "documents": [
            {"id": "a", "page_content": "text of a", "metadata": {}, "type": "Document"},
            {"id": "b", "page_content": "text of b", "metadata": {}, "type": "Document"},
        ]
    }
    return {
        "id": id_,
        "trace_id": "root",
        "parent_run_id": parent,
        "name": f"a {kind}",
        "run_type": kind,
        "inputs": {"query": QUESTION} if kind == "retriever" else {"input": QUESTION},
        "outputs": retrieved if kind == "retriever" else {},
        "start_time": "2026-01-01T00:00:00",
        "end_time": "2026-01-01T00:00:00.500000",
        "error": None,
        "extra": {"metadata": {}},
        **fields,
    }


def thumb(target: str, score: Any = 1, **fields: Any) -> dict[str, Any]:
    """A LangSmith feedback."""
    return {
        "id": f"f-{target}",
        "run_id": target,
        "trace_id": "root",
        "key": "thumb",
        "score": score,
        "value": None,
        "created_at": "2026-01-01T00:01:00+00:00",
        **fields,
    }
