"""A language model's rewrites, asked of plain functions and of both frameworks' own fakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from llama_index.core.llms import MockLLM

from rl_rewriter.actions import Action, ActionSpace
from rl_rewriter.actions.keep import Keep
from rl_rewriter.actions.language_model import MAX_FAILURES, LanguageModel
from rl_rewriter.actions.llm import LlmRewrite
from rl_rewriter.errors import CheckpointError, InputError
from rl_rewriter.types import MAX_QUERY_CHARS, Evidence, Needs, Query, Rewrite, Turn
from tests.unit.actions.conftest import MakeEvidence

KEPT = Rewrite(("money back?",))


def answering(answer: str) -> LanguageModel:
    return LanguageModel(lambda prompt: answer)


def refused_to_be_asked(prompt: str) -> str:
    raise AssertionError(f"asked {prompt}")


def test_the_answer_is_searched(evidence: MakeEvidence) -> None:
    item = evidence("money back?")
    action = LlmRewrite(answering("Sure! Here are 2 versions:\n1. refund to card\n2. money"))
    assert isinstance(action, Action)
    rewrite = action.rewrite(item)
    assert rewrite == Rewrite(("refund to card",))
    assert rewrite.llm_calls == 1
    half = LlmRewrite(answering("refund"), strength=0.5).rewrite(item)
    assert half == Rewrite(("money back?", "refund"), (0.5, 0.5))
    assert half.llm_calls == 1


def test_keywords_and_passages_are_added_to_the_query(evidence: MakeEvidence) -> None:
    item = evidence("money back?")
    keywords = LlmRewrite(answering("Terms:\n- refund\n- card"), prompt="keywords")
    assert keywords.rewrite(item) == Rewrite(("money back? refund card",))
    passage = LlmRewrite(answering("Money is refunded.\n\nIt takes days."), prompt="passage")
    assert passage.rewrite(item) == Rewrite(("money back? Money is refunded. It takes days.",))


def test_a_conversation_becomes_one_question(evidence: MakeEvidence) -> None:
    model = MockLLM()  # answers with the prompt itself
    action = LlmRewrite(model, prompt="{history}\n|{query}")
    assert action.needs == Needs.HISTORY
    assert LlmRewrite(model, prompt="standalone", strength=0.5).needs == Needs.HISTORY | Needs.BLEND
    history = [("user", "how do returns work?")]
    assert action.rewrite(evidence("and abroad?", history)) == Rewrite(
        ("user: how do returns work?",)
    )
    assert action.rewrite(evidence("and abroad?")) is None


def test_a_chat_model_of_langchain(evidence: MakeEvidence) -> None:
    model = FakeListChatModel(responses=['"refund"', "never asked for"])
    action = LlmRewrite(model, name="llm:chat")
    assert action.name == "llm:chat"
    assert action.model.endswith("FakeListChatModel")
    item = evidence("money back?")
    assert action.rewrite(item) == action.rewrite(item) == Rewrite(("refund",))


@pytest.mark.parametrize(
    "answer", ["", "Sure!", "I'm sorry, I can't help with that.", "money back?"]
)
def test_a_useless_answer_keeps_the_query_and_is_paid_for(
    evidence: MakeEvidence, answer: str
) -> None:
    rewrite = LlmRewrite(answering(answer)).rewrite(evidence("money back?"))
    assert rewrite == KEPT
    assert rewrite.llm_calls == 1


def test_a_failure_keeps_the_query(evidence: MakeEvidence) -> None:
    def fails(prompt: str) -> str:
        raise ConnectionError("refused")

    action = LlmRewrite(LanguageModel(fails, threads=1))
    rewrite = action.rewrite(evidence("money back?"))
    assert rewrite == KEPT
    assert rewrite.llm_calls == 1
    for number in range(MAX_FAILURES):
        action.rewrite(evidence(f"question {number}"))
    assert action.rewrite(evidence("money back?")) is None  # not even asked any more


@pytest.mark.parametrize(
    "text", ["Hello", "thanks!", "谢谢", "", " \n", "?!", "word " * MAX_QUERY_CHARS]
)
def test_small_talk_is_left_alone_without_a_call(evidence: MakeEvidence, text: str) -> None:
    assert LlmRewrite(refused_to_be_asked).rewrite(evidence(text)) is None


def test_without_strength_nothing_is_asked(evidence: MakeEvidence) -> None:
    assert LlmRewrite(refused_to_be_asked, strength=0.0).rewrite(evidence("money back?")) is None


def test_names_say_the_settings() -> None:
    model = answering("x")
    assert LlmRewrite(model).name == "llm:rephrase"
    assert LlmRewrite(model, prompt="keywords", strength=0.5).name == "llm:keywords@0.5"
    assert LlmRewrite(model, prompt="About {query}").name == "llm:own"
    assert LlmRewrite(model, name="mine").name == "mine"


def test_what_cannot_be_asked_is_refused_at_once() -> None:
    with pytest.raises(InputError, match="cannot ask a int"):
        LlmRewrite(7)
    with pytest.raises(InputError, match=r"must hold \{query\}"):
        LlmRewrite(answering("x"), prompt="hyde")


def test_a_second_run_makes_no_call(evidence: MakeEvidence, tmp_path: Path) -> None:
    item, path = evidence("money back?"), tmp_path / "answers.sqlite"
    asked: list[str] = []

    def ask(prompt: str) -> str:
        asked.append(prompt)
        return "refund"

    for _ in range(2):
        rewrite = LlmRewrite(LanguageModel(ask, answers=path)).rewrite(item)
        assert rewrite == Rewrite(("refund",))
        assert rewrite.llm_calls == 1  # what the rewrite costs, not what this run paid
    assert len(asked) == 1


def test_prefetched_answers_are_fixed(evidence: MakeEvidence) -> None:
    answers = {"a": "x", "b": "I'm sorry, I can't help.", "c": "C"}

    def ask(prompt: str) -> str:
        return answers[prompt]  # fails on "d"

    queries = [Query(text) for text in ("a", "b", "c", "d", "a", "Hello")]
    action = LlmRewrite(LanguageModel(ask), prompt="{query}")
    done: list[int] = []
    found = action.prefetch(queries, done.append)
    assert done == [1, 2, 3, 4]
    assert (found.n_asked, found.n_failed, found.n_unusable) == (4, 1, 1)
    [failed, unusable] = found.notes()
    assert "failed on 1 of 4 queries, which are kept (KeyError: 'd')" in failed
    assert "1 of 4 answers are empty" in unusable

    answers.update({"a": "changed", "d": "late"})
    fixed = found.action
    assert fixed.name == action.name
    made = [fixed.rewrite(evidence(text)) for text in ("a", "b", "c", "d", "Hello", "new")]
    assert made == [Rewrite(("x",)), Rewrite(("b",)), Rewrite(("C",)), Rewrite(("d",)), None, None]
    assert fixed.prefetch(queries).n_failed == 1
    assert ActionSpace((Keep(), fixed)).fingerprint == ActionSpace((Keep(), action)).fingerprint


def test_content_names_the_answers() -> None:
    queries = [Query("a"), Query("b")]
    contents = [
        LlmRewrite(answering(answer)).prefetch(asked).action.content
        for answer, asked in (("x", queries), ("y", queries), ("x", queries[:1]))
    ]
    assert len(set(contents)) == 3
    assert LlmRewrite(answering("x")).prefetch(queries).action.content == contents[0]
    assert LlmRewrite(answering("x")).content == ""


def test_a_saved_policy_asks_for_the_model() -> None:
    space = ActionSpace((Keep(), LlmRewrite(str.upper, name="llm:chat", prompt="keywords")))
    records = json.loads(json.dumps(space.to_json()))
    assert records[1]["settings"] == {
        "name": "llm:chat",
        "prompt": "keywords",
        "strength": 1.0,
        "model": space[1].model,  # type: ignore[attr-defined]
    }
    with pytest.raises(
        CheckpointError, match=r"'llm:chat' of a language model.*--llm MODULE:OBJEC"
    ):
        ActionSpace.from_json(records)
    again = LlmRewrite(str.upper, name="llm:chat", prompt="keywords")
    assert ActionSpace.from_json(records, [again]).fingerprint == space.fingerprint


def test_evidence_beside_the_query_is_not_needed() -> None:
    action = LlmRewrite(answering("refund"))
    assert action.needs == Needs.NOTHING
    bare = Evidence(Query("money back?", (Turn("user", "hi"),)), None)  # type: ignore[arg-type]
    assert action.rewrite(bare) == Rewrite(("refund",))
