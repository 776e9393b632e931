"""Asks a language model: each prompt once, within a time limit, and never by raising."""

from __future__ import annotations

import contextvars
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from concurrent.futures import TimeoutError as FutureTimeoutError  # another one in Python 3.10
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from rl_rewriter.actions.llm_adapters import as_ask, identity_of
from rl_rewriter.actions.llm_answers import AnswerFile, Answers, AnswersInMemory
from rl_rewriter.errors import InputError
from rl_rewriter.forks import renewed_after_fork

MAX_FAILURES = 10
"""After so many failures in a row nothing is asked for a while."""
PAUSE_S = 60.0

_logger = logging.getLogger(__name__)


class Answer(NamedTuple):
    """What came of asking.

    Attributes:
        text: What the model said; None where it failed or wasn't asked.
        calls: Calls that it takes to know this, whether made now or earlier; 0 where none was made
            since the model kept failing.
        problem: Why there is no text.
    """

    text: str | None
    calls: int = 1
    problem: str = ""


@runtime_checkable
class Answering(Protocol):
    """Something that answers prompts."""

    @property
    def name(self) -> str:
        """Names the model."""
        ...

    def answer(self, prompt: str) -> Answer:
        """What the model says; never raises."""
        ...

    def answer_all(
        self, prompts: Sequence[str], on_progress: Callable[[int], None] | None = None
    ) -> dict[str, Answer]:
        """Answers by prompt; never raises."""
        ...


class LanguageModel:
    """A language model of the user's, asked with care.

    Every answer is kept; equal prompts are asked once, even by several threads at a time. A call
    that raises, or takes too long, is a failure: it is told and counted, and asked again the next
    time. After ``MAX_FAILURES`` failures in a row nothing is asked for ``PAUSE_S`` seconds, so that
    a model that is down doesn't hold every query up.

    Args:
        llm: A LangChain chat model, a LlamaIndex LLM, or a function from prompt to text.
        name: Names the model where answers are kept; by default what the object tells. Give one
            where a function's model is configured outside of its code.
        answers: SQLite file in which answers are kept; by default only this process keeps them.
        timeout_s: Seconds that one call may take. The call itself can't be stopped; its late answer
            is dropped.
        threads: Calls at a time in :meth:`answer_all`.

    Raises:
        InputError: The object cannot be asked, or a setting is out of range.
    """

    def __init__(
        self,
        llm: Any,
        *,
        name: str = "",
        answers: Path | None = None,
        timeout_s: float = 60.0,
        threads: int = 4,
    ) -> None:
        if not timeout_s > 0 or threads < 1:
            raise InputError(
                f"timeout_s must be above 0 and threads at least 1, got {timeout_s} and {threads}"
            )
        self.name = name or identity_of(llm)
        self.n_calls = 0
        self.n_failures = 0
        self._ask = as_ask(llm)
        self._answers: Answers = AnswerFile(answers) if answers is not None else AnswersInMemory()
        self._timeout_s = timeout_s
        self._threads = threads
        self._failures_in_a_row = 0
        self._paused_until = 0.0
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """Begin without calls that others make: where this was forked into, nobody makes them."""
        self._lock = threading.Lock()
        self._pending: dict[str, Future[Answer]] = {}

    def answer(self, prompt: str) -> Answer:
        """What the model says to a prompt, from what is kept or by asking; never raises."""
        with self._lock:
            pending = self._pending.get(prompt)
            if pending is None:
                mine = self._pending[prompt] = Future()
        if pending is not None:
            return self._of_another(pending)
        found = Answer(None, problem="interrupted")
        try:
            known = self._kept(prompt)
            found = self._asked(prompt) if known is None else Answer(known)
        finally:
            with self._lock:
                if self._pending.get(prompt) is mine:
                    del self._pending[prompt]
            mine.set_result(found)
        return found

    def answer_all(
        self, prompts: Sequence[str], on_progress: Callable[[int], None] | None = None
    ) -> dict[str, Answer]:
        """Answers to many prompts, several at a time.

        Args:
            prompts: Equal ones are asked once.
            on_progress: Called with the number of distinct prompts done so far.
        """
        distinct = list(dict.fromkeys(prompts))
        pool = ThreadPoolExecutor(self._threads, thread_name_prefix="rl-rewriter-llm")
        found: dict[str, Answer] = {}
        try:
            asked = {pool.submit(self.answer, prompt): prompt for prompt in distinct}
            for done in as_completed(asked):
                found[asked[done]] = done.result()
                if on_progress is not None:
                    on_progress(len(found))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        return found

    def _of_another(self, pending: Future[Answer]) -> Answer:
        """What comes of another thread's call, which is waited for no longer than an own one."""
        try:
            return pending.result(timeout=self._timeout_s)
        except FutureTimeoutError:
            return Answer(None, problem=f"no answer within {self._timeout_s:g} s")

    def _asked(self, prompt: str) -> Answer:
        if time.monotonic() < self._paused_until:
            return Answer(None, calls=0, problem="it kept failing")
        try:
            text = self._call(prompt)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}".rstrip(": ")
            self._count(failed=True)
            # By its type alone: clients repeat what they were asked, which holds the query.
            _logger.warning("query kept: the language model failed: %s", type(error).__name__)
            _logger.debug("the language model failed", exc_info=error)
            return Answer(None, problem=problem)
        self._count(failed=False)
        try:
            self._answers.put(self.name, prompt, text)
        except sqlite3.Error as error:
            _logger.warning("an answer of the language model cannot be kept: %s", error)
        return Answer(text)

    def _kept(self, prompt: str) -> str | None:
        try:
            return self._answers.get(self.name, prompt)
        except sqlite3.Error as error:
            _logger.warning("answers of the language model cannot be read: %s", error)
            return None

    def _call(self, prompt: str) -> str:
        """Ask in a thread of its own: one that hangs must not keep the process from ending."""
        result: Future[str] = Future()
        context = contextvars.copy_context()

        def run() -> None:
            try:
                result.set_result(context.run(self._ask, prompt))
            except Exception as error:
                result.set_exception(error)
            except BaseException as error:  # an exit asked for in there is no exit of ours
                result.set_exception(RuntimeError(f"{type(error).__name__}: {error}"))

        threading.Thread(target=run, daemon=True, name="rl-rewriter-llm-call").start()
        try:
            return result.result(timeout=self._timeout_s)
        except FutureTimeoutError as error:
            if result.done():
                raise
            raise TimeoutError(f"no answer within {self._timeout_s:g} s") from error

    def _count(self, *, failed: bool) -> None:
        with self._lock:
            self.n_calls += 1
            self.n_failures += failed
            self._failures_in_a_row = self._failures_in_a_row + 1 if failed else 0
            if self._failures_in_a_row >= MAX_FAILURES:
                self._paused_until = time.monotonic() + PAUSE_S

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and deepcopy: all but what belongs to running threads."""
        return {**self.__dict__, "_lock": None, "_pending": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore with a lock of its own."""
        self.__dict__.update(state)
        self.renew()
        renewed_after_fork(self)
