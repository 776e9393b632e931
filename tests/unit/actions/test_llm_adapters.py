"""Whatever answers prompts can be asked, and is told from others."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from langchain_core.language_models.fake import FakeListLLM
from langchain_core.language_models.fake_chat_models import (
    FakeListChatModel,
    GenericFakeChatModel,
)
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from llama_index.core.llms import MockLLM

from rl_rewriter.actions.llm_adapters import as_ask, identity_of
from rl_rewriter.errors import InputError


class Speaks:
    def __init__(self, word: str) -> None:
        self.word = word

    def __call__(self, prompt: str) -> str:
        return f"{self.word} {prompt}"


def shout(prompt: str) -> str:
    return prompt.upper()


async def later(prompt: str) -> str:
    return prompt


PARTS = AIMessage(
    [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "re"}, "fund"]
)


@pytest.mark.parametrize(
    ("llm", "answer"),
    [
        (shout, "A"),
        (str.upper, "A"),
        (Speaks("oh"), "oh a"),
        (Speaks("oh").__call__, "oh a"),
        (partial(shout), "A"),
        (FakeListChatModel(responses=["refund"]), "refund"),
        (FakeListChatModel(responses=["refund"]) | StrOutputParser(), "refund"),
        (FakeListLLM(responses=["refund"]), "refund"),
        (GenericFakeChatModel(messages=iter([PARTS])), "re\nfund"),
        (MockLLM(), "a"),
        (MockLLM(max_tokens=2), "text text"),
    ],
)
def test_all_forms_answer(llm: Any, answer: str) -> None:
    assert as_ask(llm)("a") == answer


@pytest.mark.parametrize(
    ("llm", "message"),
    [
        (
            None,
            "cannot ask a NoneType; pass a LangChain chat model, a LlamaIndex LLM or a function",
        ),
        ("gpt", "cannot ask a str"),
        (FakeListChatModel, "cannot ask a FakeListChatModel"),
        (later, "later must be awaited"),
    ],
)
def test_what_cannot_be_asked_is_named(llm: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_ask(llm)


def test_models_are_told_apart() -> None:
    def twin(prompt: str) -> str:
        return "one"

    first = identity_of(twin)

    def twin(prompt: str) -> str:  # type: ignore[no-redef]
        return "another"

    lambdas = [lambda p: p in ("a", "b"), lambda p: p in ("a", "c"), lambda p: [x for x in p]]
    names = [
        first,
        identity_of(twin),
        *map(identity_of, lambdas),
        identity_of(FakeListChatModel(responses=["a"])),
        identity_of(MockLLM()),
        identity_of(Speaks("a")),
    ]
    assert len(set(names)) == len(names)
    assert identity_of(lambdas[0]) == names[2]
    assert first.startswith(f"{__name__}.test_models_are_told_apart")


def test_versions_of_an_object_that_is_called_are_told_apart() -> None:
    class Model:
        model = "small"

        def __call__(self, prompt: str) -> str:
            return "one"

    first = identity_of(Model())
    assert first == identity_of(Model())
    Model.__call__ = lambda self, prompt: "another"  # type: ignore[method-assign]
    assert identity_of(Model()) != first
    assert first.partition("#")[0].endswith("Model:model=small")
    assert "#" not in identity_of(FakeListChatModel(responses=["a"]))


def test_the_model_and_its_temperature_count() -> None:
    class Client:
        def __init__(self, model_name: str, temperature: float) -> None:
            self.model_name, self.temperature = model_name, temperature

        def invoke(self, prompt: str) -> str:
            return prompt

    names = {identity_of(Client(m, t)) for m in ("small", "large") for t in (0.0, 1.0)}
    assert len(names) == 4
    assert identity_of(Client("small", 0.5)).endswith("Client:model_name=small:temperature=0.5")
