"""What an importer finds in a row: steps of a trace, verdicts on them, rows that say nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from rl_rewriter.logs.importers.documents import Documents

OWN_RETRIEVER = "RewritingRetriever"
"""Name of this package's retriever in traces: its decisions are in a decision log already."""


class Step(NamedTuple):
    """One span of a trace, of a retrieval or of what is around it.

    A named tuple, since a million of them are made and written to a temporary file.

    Attributes:
        id: Name of the span; becomes the decision's id.
        trace: The trace it belongs to; "" where that isn't told.
        parent: The span around it; "" at the root.
        is_retrieval: Whether documents were searched here.
        question: What it was asked, as far as its input has words.
        history_len: Earlier messages in its input.
        documents: What came back, best first; None where that wasn't recorded.
        n_hashed: Documents without an id, named by a digest of their text.
        start: Seconds since the epoch.
        end: Seconds since the epoch.
        session: The conversation it belongs to; "" where that isn't told.
        failure: Why the retrieval can't become a decision; "" where nothing is wrong.
        is_own: Whether this package's own retriever made it, and so logged it already.
        record: The decision record that this package's own span carries, as JSON; else "".
    """

    id: str
    trace: str
    parent: str
    is_retrieval: bool
    question: str | None = None
    history_len: int = 0
    documents: Documents | None = None
    n_hashed: int = 0
    start: float | None = None
    end: float | None = None
    session: str = ""
    failure: str = ""
    is_own: bool = False
    record: str = ""


class Verdict(NamedTuple):
    """Feedback on a span or on a whole trace.

    Attributes:
        name: What was judged: the tool's own key.
        value: The number.
        span: The span it is on; "" where it is on the trace.
        trace: The trace; "" where that isn't told.
        time: Seconds since the epoch.
        position: Rank of the document it is about, from 0.
        document: Id of that document, where the feedback itself tells it.
        is_summary: Whether it is a mean that the tool keeps; single verdicts replace it.
    """

    name: str
    value: float
    span: str = ""
    trace: str = ""
    time: float | None = None
    position: int | None = None
    document: str = ""
    is_summary: bool = False


class Skipped(NamedTuple):
    """Something that became no record.

    Attributes:
        reason: What it was, or what it lacked; counted under this name.
        problem: What is wrong, where it should have become one: listed after its line.
    """

    reason: str
    problem: str = ""


class Noted(NamedTuple):
    """Something worth counting beside the records."""

    what: str


Found = Step | Verdict | Skipped | Noted


class Importer(Protocol):
    """Reads the rows of one tool's export."""

    @property
    def tool(self) -> str:
        """Name on the command line and in the records."""
        ...

    def recognises(self, row: Mapping[str, Any]) -> bool:
        """Whether a row looks like one of this tool's."""
        ...

    def read(self, row: Mapping[str, Any]) -> Iterable[Found]:
        """What the row holds; a row may hold many spans, and a span many verdicts."""
        ...

    def close(self) -> Iterable[Found]:
        """What is left when all rows were read."""
        ...
