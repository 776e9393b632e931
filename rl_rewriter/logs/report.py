"""What was found and what was passed over while records were read."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass, field

from rl_rewriter.errors import InputError
from rl_rewriter.logs.schema import Problem
from rl_rewriter.types import OnProgress

_logger = logging.getLogger(__name__)

MAX_PROBLEMS = 20
"""Problems that are told in words; all of them are counted."""


@dataclass
class ReadReport:
    """Filled in while a log is read.

    Attributes:
        strict: Stop at the first problem instead of passing over it.
        warns: Send the first problems to the log of the program too.
        on_progress: Called with each file's name, bytes read and size, every few thousand lines.
        records: Records handed out so far.
        skipped: Reason -> how many lines or rows were passed over.
        problems: The first of those, one sentence each, with file and line.
        file: What is read at present.
        unit: What ``number`` counts: "line" or "row".
        number: Where in it the reader stands, from 1.
    """

    strict: bool = False
    warns: bool = True
    on_progress: OnProgress | None = None
    records: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    file: str = ""
    unit: str = "line"
    number: int = 0

    @property
    def where(self) -> str:
        """Where the reader stands, for messages."""
        return f"{self.file} {self.unit} {self.number}"

    def skip(self, problem: Problem) -> None:
        """Count what is passed over, and say so.

        Raises:
            InputError: Nothing may be passed over.
        """
        self.skipped[problem.reason] += 1
        self.tell(f"{self.where} {problem.sentence}", "and was skipped")

    def tell(self, sentence: str, consequence: str) -> None:
        """Remember a problem in words, and warn of it; the later ones of many only count.

        Raises:
            InputError: Reading is strict.
        """
        if self.strict:
            raise InputError(sentence)
        if len(self.problems) >= MAX_PROBLEMS:
            return
        self.problems.append(f"{sentence}, {consequence}")
        if self.warns:
            _logger.warning("%s, %s", sentence, consequence)
            if len(self.problems) == MAX_PROBLEMS:
                _logger.warning("further problems of %s are counted only", self.file)
