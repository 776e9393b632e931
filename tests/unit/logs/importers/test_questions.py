"""The user's words in inputs of every shape."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rl_rewriter.logs.importers.questions import question_in

PARTS = [{"type": "text", "content": "how?"}]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("how?", ("how?", 0)),
        ('"how?" she asked', ('"how?" she asked', 0)),
        ("[draft] how?", ("[draft] how?", 0)),
        ({"query": "how?", "k": 4}, ("how?", 0)),
        ({"input": {"question": "how?"}, "chat_history": [1]}, ("how?", 1)),
        ({"str_or_query_bundle": {"query_str": "how?"}}, ("how?", 0)),
        ({"messages": [["user", "how?"]]}, ("how?", 0)),
        ({"messages": [["user", "a"], ["assistant", "b"], ["user", "how?"]]}, ("how?", 2)),
        ([{"role": "user", "content": "how?"}, {"role": "tool", "content": "x"}], ("how?", 0)),
        ([[{"type": "human", "data": {"content": "how?"}}]], ("how?", 0)),
        ([{"role": "user", "parts": PARTS}], ("how?", 0)),
        ([{"message": {"role": "user", "content": ["how?"]}}], ("how?", 0)),
        ([{"message.role": "user", "message.content": "how?"}], ("how?", 0)),
        ({"context": "a page", "question": "how?"}, ("how?", 0)),
    ],
)
def test_each_shape(value: Any, expected: tuple[str, int]) -> None:
    assert question_in(value) == expected
    if not isinstance(value, str):
        assert question_in(json.dumps(value)) == expected


@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        "",
        "  ",
        {},
        [],
        {"documents": ["a"]},
        [{"role": "assistant", "content": "hello"}],
        [{"role": "user", "content": [{"type": "image_url", "image_url": "x"}]}],
        "x" * 20_000,
        {"input": {"input": {"input": {"input": {"input": {"input": {"input": "deep"}}}}}}},
    ],
)
def test_inputs_without_words(value: Any) -> None:
    assert question_in(value) == (None, 0)
