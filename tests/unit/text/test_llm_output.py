"""Whatever a language model says around its text, the text alone is searched."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rl_rewriter.text.llm_output import candidates, first_text, joined_text
from tests.support import NASTY_TEXTS


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("refund to card", ["refund to card"]),
        # Preambles, numbers and white space never become queries.
        (
            "Here are 3 versions:\n\n1. refund to card\n \t \n2) money back\n(3) get a refund\n",
            ["refund to card", "money back", "get a refund"],
        ),
        ("Here are three rewrites.\n- a refund\n* money\n• card", ["a refund", "money", "card"]),
        ("Sure! Here is the rewritten query: **refund to card**", ["refund to card"]),
        ("Okay, here you go:\nrefund", ["refund"]),
        ("Certainly.\n\nRewritten query: refund", ["refund"]),
        ("Rewritten query:\nrefund", ["refund"]),
        ("### Rewritten Query\nrefund", ["refund"]),
        ("Query 1: refund\nQuery 2: money", ["refund", "money"]),
        ("Keywords (3): refund, card, money", ["refund, card, money"]),
        ("Query: Question: refund", ["refund"]),
        ("好的，以下是改写后的问题：\n1、如何退款\n（2）退款流程", ["如何退款", "退款流程"]),
        ("改写后的问题：如何退款？", ["如何退款？"]),
        # What stands around the matter.
        ("refund\n\nLet me know if you need more!", ["refund"]),
        ("Original query: money?\nrefund\nNote: shortened", ["refund"]),
        ("说明：已改写\n如何退款", ["如何退款"]),
        # Thoughts.
        ("<think>\nthe user wants\n</think>\n\nrefund", ["refund"]),
        ("the user wants</think>refund", ["refund"]),
        ("a<THINK>b</THINK>c", ["a", "c"]),
        ("<think>it was cut off here: refund", []),
        # Code fences, JSON, tags.
        ('```json\n["refund", "money"]\n```', ["refund", "money"]),
        ("```\nrefund\n```", ["refund"]),
        ('{"reasoning": "because", "query": "refund"}', ["refund"]),
        ('{"queries": [{"text": "refund"}, {"text": "money"}]}', ["refund", "money"]),
        ('[\n  "refund",\n  "money"\n', ["refund", "money"]),
        ('{\n  "query": "refund",\n', ["refund"]),
        ('{"query": "refund to card"', ["refund to card"]),
        ('{"queries": [{"text": "re\\"fund"}, {"text": "mon', ['re"fund', "mon"]),
        ('["refund", "money",', ["refund", "money"]),
        ("[refund] for a card", ["[refund] for a card"]),
        ("<query>refund</query>", ["refund"]),
        ("[" * 5000, []),
        # Quotes, where they are around everything and nowhere else.
        ('"refund"', ["refund"]),
        ("“退款”", ["退款"]),
        ("'what's up with it'", ["what's up with it"]),
        ('"refund".', ["refund"]),
        ('"a refund" or "money"', ['"a refund" or "money"']),
        ('"the minor allele', ["the minor allele"]),
        # Nothing to use.
        ("", []),
        (" \n\t\n", []),
        ("...", []),
        ("Sure!", []),
        ("Here are 3 versions:", []),
        ("N/A", []),
        ("none.", []),
        ("I'm sorry, but I can't help with that.\nPlease ask something else.", []),
        ("As an AI language model, I have no opinion.", []),
        ("I cannot answer this.", []),
        ("抱歉，我无法回答这个问题。", []),
        # Texts that only look like chatter.
        ("2.5 percent of 5-HT", ["2.5 percent of 5-HT"]),
        ("A. thaliana genome", ["A. thaliana genome"]),
        ("I cannot log in", ["I cannot log in"]),
        ("none of the above", ["none of the above"]),
        ("sure-fire ways to get a refund", ["sure-fire ways to get a refund"]),
        ("ratio 3:1 of men", ["ratio 3:1 of men"]),
    ],
)
def test_the_texts_alone_are_left(output: str, expected: list[str]) -> None:
    assert candidates(output) == expected


def test_first_and_joined() -> None:
    answer = "Here you go:\n1. refund\n2. money back"
    assert first_text(answer, limit=100) == "refund"
    assert joined_text(answer, limit=100) == "refund money back"
    assert first_text("Sure!", limit=100) is None
    assert joined_text("", limit=100) is None


def test_long_texts_are_cut_between_words() -> None:
    assert first_text("one two three four", limit=12) == "one two"
    assert first_text("a supercalifragilistic word", limit=12) == "a supercalif"
    assert first_text("退款流程说明", limit=3) == "退款流"
    assert joined_text("one\ntwo\nthree", limit=9) == "one two"


@pytest.mark.timeout(20)
@pytest.mark.parametrize("text", [*NASTY_TEXTS, *(part * 20_000 for part in (
    "<think>", "1. ", "- ", ":\n", '"', "[", "{", "here is ", "rewritten ", "<a>", "*", "_", "a:\n"
))])  # fmt: skip
def test_nothing_is_too_nasty_or_takes_long(text: str) -> None:
    for usable in (first_text(text, limit=200), joined_text(text, limit=200)):
        assert usable is None or 0 < len(usable) <= 200


chatter = st.sampled_from(
    ["Sure!", "\n", "1. ", "- ", '"', "```", "<think>", "</think>", "Query:", "：", "**", "[", "{"]
)


@given(st.lists(st.one_of(chatter, st.text(max_size=8)), max_size=12).map("".join))
def test_what_is_left_is_one_line_that_says_something(output: str) -> None:
    for text in candidates(output):
        assert text == " ".join(text.split())
        assert any(character.isalnum() for character in text)
    usable = first_text(output, limit=20)
    assert usable is None or (usable.strip() == usable and len(usable) <= 20)
