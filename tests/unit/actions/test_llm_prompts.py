"""What a language model is asked about a query."""

from __future__ import annotations

import pytest

from rl_rewriter.actions.llm_prompts import MAX_TURN_CHARS, MAX_TURNS, PROMPTS, Prompt, prompt_of
from rl_rewriter.errors import InputError
from rl_rewriter.types import Query, Turn


def test_the_usual_methods_show_the_query() -> None:
    assert set(PROMPTS) == {"keywords", "rephrase", "passage", "standalone"}
    query = Query(
        " money {history} back? ", (Turn("user", "a {query} card"), Turn("assistant", "y"))
    )
    for prompt in PROMPTS.values():
        assert "money {history} back?" in prompt.filled(query)
    assert [name for name, prompt in PROMPTS.items() if prompt.wants_history] == ["standalone"]
    shown = PROMPTS["standalone"].filled(query)
    assert "user: a {query} card\nassistant: y\n" in shown


def test_the_end_of_a_long_conversation_is_shown() -> None:
    turns = tuple(Turn("user", f"turn {number} {'x' * 2000}") for number in range(20))
    shown = Prompt(text="{history}|{query}").filled(Query("q", turns))
    assert shown.count("turn ") == MAX_TURNS
    assert "turn 13 " not in shown
    assert "turn 14 " in shown
    assert len(shown) < MAX_TURNS * (MAX_TURN_CHARS + 20)


def test_a_prompt_of_ones_own() -> None:
    prompt = prompt_of('Answer {"q": "..."} for {query}')
    assert prompt.filled(Query("a")) == 'Answer {"q": "..."} for a'
    assert not prompt.wants_history
    assert not prompt.is_added
    assert prompt_of("keywords") is PROMPTS["keywords"]


@pytest.mark.parametrize("text", ["", "hyde", "about {Query}", 7])
def test_a_prompt_without_the_query_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"must hold \{query\}, or be one of keywords, rephrase"):
        prompt_of(text)
