"""What belongs together in a trace: retrievals, the question around them, feedback on them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rl_rewriter.logs.importers.found import Step, Verdict
from rl_rewriter.logs.importers.observed import Asked, asked_for

_MAX_ANCESTORS = 200
"""Deeper than any trace; a ring of parents ends here."""

_Node = tuple[str, str, bool, str | None, int]
"""Parent, trace, whether it retrieves, question, earlier messages. A plain tuple of plain values,
which the garbage collector needn't look into: there may be millions."""
_PARENT: Final = 0
_TRACE: Final = 1
_IS_RETRIEVAL: Final = 2
_QUESTION: Final = 3
_HISTORY_LEN: Final = 4


class Traces:
    """All spans of an export by their ids, as far as joining needs them.

    Parents may come after their children in a file, and feedback before the spans it is on: spans
    are added first, questions asked afterwards.
    """

    def __init__(self) -> None:
        self._nodes: dict[str, _Node] = {}
        self._sessions: dict[str, str] = {}
        self._inner: dict[str, list[str]] = {}
        self._target: dict[str, str] = {}
        self._further: dict[str, list[str]] = {}
        self._outer: dict[str, str] = {}
        self._recorded: set[str] = set()
        self._around_recorded: set[str] = set()
        self._added: set[str] = set()

    def add(self, step: Step) -> bool:
        """Take in a span; False where one with this id is there already."""
        if step.id in self._nodes:
            return False
        self._nodes[step.id] = (
            step.parent,
            step.trace,
            step.is_retrieval,
            step.question,
            step.history_len,
        )
        if step.record:
            self._recorded.add(step.id)
        if step.session and step.trace:
            self._sessions.setdefault(step.trace, step.session)
        return True

    def nest(self) -> None:
        """Find which retrievals lie inside another one; to be called once, after the last span."""
        for name, node in self._nodes.items():
            if not node[_IS_RETRIEVAL] or not node[_PARENT]:
                continue
            around = [a for a in self._ancestors(name) if self._nodes[a][_IS_RETRIEVAL]]
            if around:
                self._outer[name] = around[-1]
                if name in self._recorded:
                    self._around_recorded.add(around[-1])
                if (question := node[_QUESTION]) is not None:
                    self._inner.setdefault(around[-1], []).append(question)

    def is_inner(self, name: str) -> bool:
        """Whether this retrieval was made by another one, which stands for both."""
        return name in self._outer

    def outermost(self, name: str) -> str:
        """The retrieval that stands for this one in feedback; itself where none is around it."""
        return self._outer.get(name, name)

    def is_around_recorded(self, name: str) -> bool:
        """Whether a retrieval inside this one carries its decision record."""
        return name in self._around_recorded

    def asked(self, step: Step) -> Asked:
        """The user's words and the searched texts of an outermost retrieval with a question."""
        nodes = [self._nodes[name] for name in self._ancestors(step.id)] if step.parent else []
        around = [(q, node[_HISTORY_LEN]) for node in nodes if (q := node[_QUESTION]) is not None]
        own = step.question or "", step.history_len
        return asked_for(own, self._inner.get(step.id, ()), around)

    def session(self, step: Step) -> str:
        """The conversation of a span: its own, else its trace's; "" where neither tells."""
        return step.session or self._sessions.get(step.trace, "")

    def add_target(self, step: Step) -> None:
        """Make a retrieval, or the one around it, one that feedback can be on."""
        name = self.outermost(step.id)
        trace = step.trace or name
        if name in self._around_recorded:  # comes both for itself and for what is inside it
            if name in self._added:
                return
            self._added.add(name)
        if self._target.setdefault(trace, name) != name:
            self._further.setdefault(trace, []).append(name)

    def targets(self, verdict: Verdict) -> list[str]:
        """Decisions that a verdict is on.

        The retrieval itself; the one around it; those inside the judged span; else all of the
        trace, since an answer is made from all that was retrieved for it.
        """
        node = self._nodes.get(verdict.span)
        if node is None:
            return self._targets_of(verdict.trace or verdict.span)
        of_trace = self._targets_of(node[_TRACE] or verdict.span)
        span = self._outer.get(verdict.span, verdict.span)
        if node[_IS_RETRIEVAL]:
            return [span] if span in of_trace else []
        inside = [name for name in of_trace if span in self._ancestors(name)]
        return inside or of_trace

    def _targets_of(self, trace: str) -> list[str]:
        target = self._target.get(trace)
        return [] if target is None else [target, *self._further.get(trace, ())]

    def _ancestors(self, name: str) -> Iterator[str]:
        """Known spans around this one, from the nearest outward.

        Where those in between were not exported, the trace's own root comes next.
        """
        for _ in range(_MAX_ANCESTORS):
            node = self._nodes.get(name)
            parent = "" if node is None else node[_PARENT]
            if node is not None and parent and parent not in self._nodes:
                parent = self._root_of(node[_TRACE])
            if not parent or parent == name:
                return
            yield parent
            name = parent

    def _root_of(self, trace: str) -> str:
        """The span that stands for a whole trace; "" where none is known by the trace's name."""
        name = trace if trace in self._nodes else trace_step(trace)
        return name if name in self._nodes else ""


def trace_step(trace: str) -> str:
    """Name of the step that stands for a trace, where the tool keeps traces apart from spans."""
    return f"trace:{trace}"
