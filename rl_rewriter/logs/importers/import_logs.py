"""From exports to a decision log: read everything, join it, write it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, get_args

from rl_rewriter.errors import InputError
from rl_rewriter.logs.convert import write_records
from rl_rewriter.logs.importers.gathering import Gathering
from rl_rewriter.logs.importers.observed import Origin
from rl_rewriter.logs.importers.recording import feedback_records, imported_decisions
from rl_rewriter.logs.importers.registry import open_importer
from rl_rewriter.logs.importers.report import ImportReport, Tally
from rl_rewriter.logs.importers.rows import files_of
from rl_rewriter.logs.records import QueryPrivacy
from rl_rewriter.logs.report import ReadReport
from rl_rewriter.types import OnProgress


@dataclass(frozen=True, kw_only=True)
class ImportConfig:
    """How an export is imported.

    Attributes:
        tool: Whose export it is: a name of
            :data:`rl_rewriter.logs.importers.registry.IMPORTERS`.
        log_queries: "text" keeps the words of queries, "hash" a digest of them, "none" nothing.
        strict: Stop at the first row that can't be read.
        replace: Write over a file that exists.
    """

    tool: str
    log_queries: QueryPrivacy = "text"
    strict: bool = False
    replace: bool = False

    def __post_init__(self) -> None:
        """Refuse unknown tools and settings."""
        open_importer(self.tool)
        if self.log_queries not in get_args(QueryPrivacy):
            raise InputError(
                f'log_queries must be "text", "hash" or "none", got {self.log_queries!r}'
            )


def import_logs(
    paths: Sequence[str | Path],
    out: str | Path,
    config: ImportConfig,
    *,
    feedback: Sequence[str | Path] = (),
    on_progress: OnProgress | None = None,
) -> ImportReport:
    """Write a tool's export as a decision log.

    Decisions of another chain have no propensity: nobody drew what it did, so it can't be known.
    Spans of this package's own (:mod:`rl_rewriter.telemetry.opentelemetry`) have theirs. Rows are
    read one at a time; in memory is what joins them, about 400 bytes a span.

    Args:
        paths: Export files, or folders of them; see :func:`rl_rewriter.logs.importers.rows`.
        out: The log; its name may end in ``.gz`` or ``.parquet``.
        config: Whose export it is, and how it is read.
        feedback: Further files, with feedback in the tool's format or in that of decision logs.
        on_progress: Called with each file's name and the bytes read, then with the records written.

    Raises:
        InputError: A file can't be read, holds nothing of this tool, or ``out`` exists.
    """
    out = Path(out)
    files = [file for path in (*paths, *feedback) for file in files_of(Path(path))]
    _check_target(out, files, config.replace)
    out.parent.mkdir(parents=True, exist_ok=True)
    origin = Origin(how="imported", source=config.tool, log_queries=config.log_queries)
    tally = Tally(ReadReport(strict=config.strict, warns=False, on_progress=on_progress))
    with closing(Gathering(open_importer(config.tool), tally, out.parent)) as gathering:
        gathering.add_files(files)
        records = chain(
            imported_decisions(gathering, tally, origin, on_progress),
            feedback_records(gathering, tally),
        )
        first = next(records, None)
        if first is None:
            raise InputError(_nothing(files[0], tally, config.tool))
        write_records(chain([first], records), out)
    return tally.report(config.tool)


def _check_target(out: Path, files: Sequence[Path], replace: bool) -> None:
    if not out.exists():
        return
    if any(out.samefile(file) for file in files):
        raise InputError(f"{out} is the export itself; name another file")
    if not replace:
        raise InputError(f"{out} exists; name another file, or say that it is to be replaced")


def _nothing(path: Path, tally: Tally, tool: str) -> str:
    skipped: dict[str, Any] = tally.report(tool).to_json()["skipped"]
    counts = ", ".join(f"{reason}: {count}" for reason, count in list(skipped.items())[:4])
    return f"{path} holds no retrieval that could be imported, of {tally.read} rows ({counts})"
