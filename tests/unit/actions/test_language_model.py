"""A language model is asked once for a prompt, for so long, and never fails anyone."""

from __future__ import annotations

import contextvars
import copy
import pickle
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rl_rewriter.actions.language_model import MAX_FAILURES, Answer, Answering, LanguageModel
from rl_rewriter.actions.llm_answers import MAX_IN_MEMORY, AnswerFile, AnswersInMemory
from rl_rewriter.errors import InputError
from tests.faults import Stall


class Counted:
    """Answers in capitals, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, prompt: str) -> str:
        self.asked.append(prompt)
        return prompt.upper()


def test_a_prompt_is_asked_once() -> None:
    source = Counted()
    model = LanguageModel(source)
    assert isinstance(model, Answering)
    assert model.answer("a") == model.answer("a") == Answer("A", calls=1)
    assert model.answer_all(["b", "a", "b"]) == {"a": Answer("A"), "b": Answer("B")}
    assert source.asked == ["a", "b"]
    assert (model.n_calls, model.n_failures) == (2, 0)


def test_another_run_finds_the_answers_another_model_does_not(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "answers.sqlite"
    LanguageModel(Counted(), answers=path, name="x").answer("\ud800 如何\0退款")
    same, other = Counted(), Counted()
    again = LanguageModel(same, answers=path, name="x")
    assert again.answer("\ud800 如何\0退款") == Answer("\ud800 如何\0退款".upper())
    assert same.asked == []
    LanguageModel(other, answers=path, name="y").answer("\ud800 如何\0退款")
    assert len(other.asked) == 1


def test_a_killed_run_keeps_what_it_was_told(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    script = (
        "import os, sys; from pathlib import Path;"
        "from rl_rewriter.actions.language_model import LanguageModel;"
        "model = LanguageModel(str.upper, answers=Path(sys.argv[1]), name='x');"
        "model.answer('a'); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", script, str(path)], check=False).returncode == 9
    source = Counted()
    assert LanguageModel(source, answers=path, name="x").answer("a") == Answer("A")
    assert source.asked == []


def test_several_threads_ask_together_once() -> None:
    asked, together = [], threading.Barrier(4)

    def slow(prompt: str) -> str:
        asked.append(prompt)
        return prompt.upper()

    model = LanguageModel(slow)

    def ask(_: int) -> Answer:
        together.wait(timeout=10)
        return model.answer("a")

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(ask, range(4))) == {Answer("A")}
    assert asked == ["a"]


def test_the_call_of_another_thread_is_waited_for_no_longer_than_an_own_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stall = Stall()
    model = LanguageModel(str.upper, timeout_s=0.05)
    # A call is limited by itself; what is kept may stand on a disk that hangs.
    monkeypatch.setattr(model, "_kept", stall)
    asking = threading.Thread(target=model.answer, args=("a",))
    asking.start()
    assert stall.reached.wait(10)
    assert model.answer("a") == Answer(None, problem="no answer within 0.05 s")
    stall.let_go()
    asking.join(10)
    assert model.answer("a") == Answer("A")


def test_prompts_are_asked_several_at_a_time() -> None:
    together = threading.Barrier(3)

    def meets_two_others(prompt: str) -> str:
        together.wait(timeout=10)
        return prompt

    seen: list[int] = []
    model = LanguageModel(meets_two_others, threads=3)
    assert len(model.answer_all(["a", "b", "c"], seen.append)) == 3
    assert seen == [1, 2, 3]
    assert model.n_failures == 0


def test_a_failure_is_counted_told_and_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    results: Iterator[Exception | str] = iter([RuntimeError("no quota"), "fine"])

    def ask(prompt: str) -> str:
        result = next(results)
        if isinstance(result, Exception):
            raise result
        return result

    model = LanguageModel(ask)
    assert model.answer("a") == Answer(None, calls=1, problem="RuntimeError: no quota")
    assert "the language model failed: RuntimeError" in caplog.text
    assert "no quota" not in caplog.text
    assert model.answer("a") == Answer("fine")
    assert (model.n_calls, model.n_failures) == (2, 1)


def test_an_answer_that_is_no_text_is_a_failure() -> None:
    found = LanguageModel(lambda prompt: 7).answer("a")
    assert found.text is None
    assert found.problem == "TypeError: the language model answered a int without a text"


def test_a_model_that_wants_the_process_to_end_is_a_failure() -> None:
    found = LanguageModel(lambda prompt: sys.exit(3)).answer("a")
    assert found == Answer(None, problem="RuntimeError: SystemExit: 3")


def test_a_call_that_hangs_is_given_up() -> None:
    hangs = threading.Event()
    model = LanguageModel(lambda prompt: str(hangs.wait(30)), timeout_s=0.05)
    assert model.answer("a").problem == "TimeoutError: no answer within 0.05 s"
    hangs.set()


def test_a_timeout_of_the_models_own_is_told_as_its_own() -> None:
    def ask(prompt: str) -> str:
        raise TimeoutError("the server is busy")

    assert LanguageModel(ask).answer("a").problem == "TimeoutError: the server is busy"


def test_a_model_that_is_down_is_left_alone_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Counted()

    def ask(prompt: str) -> str:
        source(prompt)
        if is_down:
            raise ConnectionError
        return prompt

    is_down = True
    model = LanguageModel(ask, threads=1)
    found = model.answer_all([str(number) for number in range(30)])
    assert len(source.asked) == model.n_failures == MAX_FAILURES
    assert sum(answer.calls for answer in found.values()) == MAX_FAILURES
    assert model.answer("x") == Answer(None, calls=0, problem="it kept failing")
    is_down = False
    monkeypatch.setattr(model, "_paused_until", 0.0)
    assert model.answer("x") == Answer("x")
    assert model.answer("y") == Answer("y")


def test_what_is_known_is_told_while_a_model_is_down() -> None:
    def ask(prompt: str) -> str:
        if prompt != "known":
            raise ConnectionError
        return prompt

    model = LanguageModel(ask, threads=1)
    model.answer_all(["known", *map(str, range(MAX_FAILURES))])
    assert model.answer("new").calls == 0
    assert model.answer("known") == Answer("known")


def test_the_callers_context_reaches_the_model() -> None:
    variable = contextvars.ContextVar("variable", default="outside")
    variable.set("inside")
    assert LanguageModel(lambda prompt: variable.get()).answer("a") == Answer("inside")


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but long enough to be taken for one " * 10)
    with pytest.raises(InputError, match=r"notes.txt cannot be used to keep answers.*delete it"):
        LanguageModel(str.upper, answers=path)
    with pytest.raises(InputError, match="cannot be used to keep answers"):
        LanguageModel(str.upper, answers=path / "below")


def test_a_file_that_breaks_later_costs_answers_but_fails_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "answers.sqlite"
    model = LanguageModel(str.upper, answers=path)
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE answers")
    assert model.answer("a") == Answer("A")
    assert "cannot be read" in caplog.text
    assert "cannot be kept" in caplog.text


@pytest.mark.parametrize(
    "settings", [{"timeout_s": 0}, {"timeout_s": float("nan")}, {"threads": 0}]
)
def test_settings_out_of_range_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(InputError, match="timeout_s must be above 0 and threads at least 1"):
        LanguageModel(str.upper, **settings)  # type: ignore[arg-type]


def test_it_can_be_copied_and_pickled() -> None:
    model = LanguageModel(str.upper)
    model.answer("a")
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert twin.answer("a") == Answer("A")
        assert twin.n_calls == 1
        assert twin.answer("b") == Answer("B")


def test_memory_has_an_end() -> None:
    answers = AnswersInMemory()
    for number in range(MAX_IN_MEMORY + 1):
        answers.put("m", str(number), "x")
    assert answers.get("m", "0") is None
    assert answers.get("m", "1") == answers.get("m", str(MAX_IN_MEMORY)) == "x"


def test_an_empty_answer_is_an_answer(tmp_path: Path) -> None:
    for answers in (AnswersInMemory(), AnswerFile(tmp_path / "answers.sqlite")):
        assert answers.get("m", "p") is None
        answers.put("m", "p", "")
        assert answers.get("m", "p") == ""
        assert answers.get("mp", "") is None
