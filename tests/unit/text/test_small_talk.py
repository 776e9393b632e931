"""Greetings are told from questions."""

from __future__ import annotations

import pytest

from rl_rewriter.text.small_talk import is_small_talk


@pytest.mark.parametrize(
    "text",
    [
        "Hello",
        "hi there!",
        "Thanks, that was great",
        "Thank you so much for your help",
        "Good morning everyone",
        "Hey, how are you?",
        "bye :)",
        "谢谢你！",
        "您好",
        "非常感谢您的帮助",
        "👋",
        "?!",
        "",
    ],
)
def test_small_talk(text: str) -> None:
    assert is_small_talk(text)


@pytest.mark.parametrize(
    "text",
    [
        "hello world in Rust",
        "hi, how do I get a refund?",
        "thank you for your help with refunds",
        "refund",
        "ok",
        "how are you charged for a return?",
        "您好，请问如何退款",
        "谢谢，发票在哪里",
        "thanks " * 50,
    ],
)
def test_questions(text: str) -> None:
    assert not is_small_talk(text)
