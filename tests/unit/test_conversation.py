"""Histories of every shape that chains hand over."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    ChatMessage,
    HumanMessage,
    HumanMessageChunk,
    SystemMessage,
    ToolMessage,
)
from llama_index.core.llms import ChatMessage as LlamaMessage
from llama_index.core.llms import ImageBlock, MessageRole, TextBlock

from rl_rewriter.conversation import MAX_TURNS, as_history, as_query
from rl_rewriter.errors import InputError
from rl_rewriter.types import Filters, Query, Turn

TURNS = (Turn("user", "how long?"), Turn("assistant", "two days"))


@pytest.mark.parametrize(
    "messages",
    [
        ["how long?", "two days"],
        ("how long?", "two days"),
        [("user", "how long?"), ("assistant", "two days")],
        [("human", "how long?"), ("ai", "two days")],
        [["user", "how long?"], ["model", "two days"]],
        [("USER", "how long?"), ("Chatbot", "two days")],
        [{"role": "user", "content": "how long?"}, {"role": "assistant", "content": "two days"}],
        [{"type": "human", "content": "how long?"}, {"type": "ai", "content": "two days"}],
        [{"role": "user", "text": "how long?"}, {"role": "assistant", "text": "two days"}],
        [HumanMessage("how long?"), AIMessage("two days")],
        [HumanMessageChunk(content="how long?"), AIMessageChunk(content="two days")],
        [ChatMessage(role="user", content="how long?"), AIMessage("two days")],
        [LlamaMessage("how long?"), LlamaMessage("two days", role=MessageRole.ASSISTANT)],
        [LlamaMessage("how long?", role="user"), LlamaMessage("two days", role="chatbot")],
        list(TURNS),
    ],
)
def test_every_shape_gives_the_same_turns(messages: Any) -> None:
    assert as_history(messages) == TURNS


def test_system_and_tool_messages_are_left_out() -> None:
    messages = [
        SystemMessage("be nice"),
        HumanMessage("how long?"),
        AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "1"}]),
        ToolMessage("2", tool_call_id="1"),
        AIMessage("two days"),
        ("system", "be quick"),
        ("tool", "x"),
        {"role": "developer", "content": "x"},
        LlamaMessage("x", role=MessageRole.TOOL),
    ]
    assert as_history(messages) == TURNS


def test_content_of_several_parts_is_joined_and_images_are_left_out() -> None:
    messages = [
        HumanMessage(
            [
                {"type": "text", "text": "how"},
                {"type": "image_url", "image_url": {"url": "data:,"}},
                "long?",
            ]
        ),
        LlamaMessage(
            role=MessageRole.ASSISTANT,
            blocks=[TextBlock(text="two"), ImageBlock(image=b"x"), TextBlock(text="days")],
        ),
    ]
    first, second = as_history(messages)
    assert first == Turn("user", "how long?")
    assert second.text.split() == ["two", "days"]


@pytest.mark.parametrize("message", [{"role": "user"}, {"content": "x"}, {"speaker": "a"}])
def test_a_mapping_that_lacks_role_or_words_is_refused(message: dict[str, str]) -> None:
    with pytest.raises(InputError, match='needs "role" and "content"'):
        as_history([message])


@pytest.mark.parametrize("content", [None, "", "  ", [], [{"type": "image_url"}], [None], 7])
def test_messages_without_text_are_left_out(content: Any) -> None:
    assert as_history([("user", content), {"role": "user", "content": content}]) == ()


def test_no_history_is_no_turn() -> None:
    assert as_history([]) == ()


def test_plain_strings_alternate_even_around_blank_ones() -> None:
    assert as_history(["a", " ", "c", "d"]) == (
        Turn("user", "a"),
        Turn("user", "c"),
        Turn("assistant", "d"),
    )


def test_of_long_conversations_the_end_counts_and_roles_stay_right() -> None:
    turns = as_history([str(number) for number in range(MAX_TURNS + 3)])
    assert len(turns) == MAX_TURNS
    assert turns[0] == Turn("assistant", "3")
    assert turns[-1].text == str(MAX_TURNS + 2)


@pytest.mark.parametrize("messages", [[3], [None], [("user", "a", "b")], [object()]])
def test_other_things_are_refused_by_name(messages: Any) -> None:
    with pytest.raises(InputError, match=r"a turn of the history must be .* not \w+"):
        as_history(messages)


def test_one_string_is_no_history() -> None:
    with pytest.raises(InputError, match="not str"):
        as_history("hello")


def test_queries_are_read_from_what_callers_have() -> None:
    asked = Query("q", (Turn("user", "x"),), Filters({"a": 1}), "7")
    assert as_query(asked) is asked
    assert as_query("q") == Query("q")
    assert as_query(asked, history=[]).history == ()
    assert as_query(asked, filters={"b": 2}) == Query("q", asked.history, Filters({"b": 2}), "7")
    for wrong in (None, 3, ["q"]):
        with pytest.raises(InputError, match="a query must be a string, not"):
            as_query(wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="filters must be a mapping, not str"):
        as_query("q", filters="tenant")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="history must be a list of turns, not str"):
        as_query("q", history="hello")
