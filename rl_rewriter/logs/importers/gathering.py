"""Reads exports through an importer: retrievals and feedback to disk, spans to memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rl_rewriter.errors import InputError
from rl_rewriter.logs.importers.documents import Documents
from rl_rewriter.logs.importers.found import Found, Importer, Noted, Step, Verdict
from rl_rewriter.logs.importers.own_feedback import is_own_feedback, own_feedback
from rl_rewriter.logs.importers.registry import tools_of
from rl_rewriter.logs.importers.report import Tally
from rl_rewriter.logs.importers.rows import UNREADABLE, read_rows
from rl_rewriter.logs.importers.spool import Spool
from rl_rewriter.logs.importers.traces import Traces
from rl_rewriter.logs.schema import Problem

MAX_QUERY_CHARS = 100_000
"""A longer query is no question: such a retrieval is passed over."""

_UNKNOWN = "row of another kind"
_HOSTILE = (TypeError, ValueError, KeyError, AttributeError, RecursionError, OverflowError)


class Gathering:
    """What was found in all rows of all files.

    Args:
        importer: Reads the rows.
        tally: Counts what becomes no record.
        folder: Where the temporary files lie.
    """

    def __init__(self, importer: Importer, tally: Tally, folder: Path) -> None:
        self._importer = importer
        self._tally = tally
        self.traces = Traces()
        self.steps = Spool(folder)
        self.verdicts = Spool(folder)
        self.positioned: set[str] = set()
        self.documents: dict[str, Documents | None] = {}
        self.has_summaries = False
        self._stranger = ""

    def add_files(self, files: Sequence[Path]) -> None:
        """Read all rows.

        Raises:
            InputError: No row of them is the tool's; or there is a problem, and problems end it.
        """
        for path in files:
            for row in read_rows(path, self._tally.reading):
                self._tally.read += 1
                self._add_row(row)
        for found in self._importer.close():
            self._add(found)
        if not self._tally.recognised:
            raise InputError(self._stranger or self._first_problem(files))
        self.traces.nest()

    def close(self) -> None:
        """Remove the temporary files."""
        self.steps.close()
        self.verdicts.close()

    def all_steps(self) -> Iterator[Step]:
        """The retrievals in the order of the files."""
        return (Step(*values) for values in self.steps.read())

    def all_verdicts(self) -> Iterator[Verdict]:
        """The feedback in the order of the files."""
        return (Verdict(*values) for values in self.verdicts.read())

    def _add_row(self, row: Mapping[str, Any]) -> None:
        try:
            if is_own_feedback(row):
                found_here: Iterable[Found] = own_feedback(row)
            elif self._importer.recognises(row):
                found_here = self._importer.read(row)
            else:
                self._add_stranger(row)
                return
            self._tally.recognised += 1
            for found in found_here:
                self._add(found)
        except InputError:
            raise
        except _HOSTILE as error:
            kind = type(error).__name__
            sentence = f"can't be read as a row of {self._importer.tool} ({kind})"
            self._tally.reading.skip(Problem(UNREADABLE, sentence))

    def _add(self, found: Found) -> None:
        reading = self._tally.reading
        if isinstance(found, Step):
            self._add_step(found)
        elif isinstance(found, Verdict):
            self.verdicts.add(found)
            self.has_summaries |= found.is_summary
            if found.position is not None:
                self.positioned.add(found.span)
        elif isinstance(found, Noted):
            self._tally.notes[found.what] += 1
        elif found.problem:
            reading.skip(Problem(found.reason, found.problem))
        else:
            reading.skipped[found.reason] += 1

    def _add_step(self, step: Step) -> None:
        reading = self._tally.reading
        if not step.id:
            reading.skip(Problem("span without an id", "holds a span without an id"))
        elif not self.traces.add(step):
            reading.skipped["span that was there already"] += 1
        elif not step.is_retrieval:
            reading.skipped["span that is no retrieval"] += 1
        elif step.failure:
            reading.skipped[step.failure] += 1
        elif not step.record and (step.question is None or len(step.question) > MAX_QUERY_CHARS):
            sentence = "is a retrieval whose query text isn't there, or is no question"
            reading.skip(Problem("retrieval without a query text", sentence))
        else:
            self.steps.add(step)

    def _add_stranger(self, row: Mapping[str, Any]) -> None:
        reading = self._tally.reading
        reading.skipped[_UNKNOWN] += 1
        if self._stranger:
            return
        tool, others = self._importer.tool, sorted(tools_of(row))
        keys = ", ".join(str(key)[:40] for key in list(row)[:8])
        advice = f"; it looks like an export of {' or '.join(others)}" if others else ""
        self._stranger = (
            f"{reading.file} holds no row of {tool}: {reading.unit} {reading.number} has the keys "
            f"{keys}{advice}"
        )

    def _first_problem(self, files: Sequence[Path]) -> str:
        problems = self._tally.reading.problems
        if not problems:
            return f"{files[0]} holds no row at all"
        return problems[0].removesuffix(", and was skipped").removesuffix(", the rest was skipped")
