"""No text makes a chain fail that doesn't fail without us, widens a filter, or harms the log."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_rewriter import RLQueryRewriter
from rl_rewriter.actions.space import default_actions
from rl_rewriter.errors import InputError
from rl_rewriter.integrations.langchain import QueryRewriteRunnable
from rl_rewriter.integrations.llama_index import QueryRewriteTransform
from rl_rewriter.logs.store import read_interactions
from rl_rewriter.types import Needs
from tests.fuzzed import HISTORY, WHERE, Fuzzed
from tests.nasty_texts import NASTY, random_texts

WAYS = ("python", "langchain", "langchain_async", "llama_index", "llama_index_async")


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fuzzed]:
    built = Fuzzed(tmp_path_factory.mktemp("fuzzed") / "decisions.jsonl")
    yield built
    built.loop.close()


def test_every_way_is_checked_here(fuzzed: Fuzzed) -> None:
    assert tuple(fuzzed.ways) == WAYS


@pytest.mark.parametrize("way", WAYS)
def test_the_list(fuzzed: Fuzzed, way: str) -> None:
    for text in NASTY:
        fuzzed.ask(way, text)
    assert fuzzed.counts.problems == []


@settings(max_examples=60)
@given(st.sampled_from(WAYS), st.text(st.characters(), max_size=200))
def test_any_text(fuzzed: Fuzzed, way: str, text: str) -> None:
    fuzzed.ask(way, text)
    assert fuzzed.counts.problems == []


def test_every_action_and_a_log_that_can_be_read_line_by_line(fuzzed: Fuzzed) -> None:
    for row, text in enumerate(islice(random_texts(seed=0), 400)):
        fuzzed.ask(WAYS[row % len(WAYS)], text)
    counts = fuzzed.counts
    assert counts.problems == []
    assert set(counts.actions) == set(default_actions(~Needs.SPELLING).names)
    assert set(counts.reasons) <= {
        "explored",
        "fallback:blank_query",
        "fallback:long_query",
        "fallback:small_talk",
        "fallback:evidence",  # the embedder takes no lone surrogate, and so fails the chain too
    }
    answered = counts.asked - counts.shared_errors.total()
    assert fuzzed.check_log() == answered == len(read_interactions(fuzzed.log))
    assert set(counts.shared_errors) == {"UnicodeEncodeError"}


@pytest.mark.parametrize("number", range(len(NASTY)))
def test_texts_are_handed_on_by_both_steps(fuzzed: Fuzzed, number: int) -> None:
    """Where nothing is searched, nothing is refused but what the evidence's embedder refuses."""
    text = NASTY[number]
    step = QueryRewriteRunnable(rewriter=fuzzed.rewriter, explore=True)
    assert step.invoke({"input": text, "chat_history": HISTORY}).strip() or not text.strip()
    bundle = QueryRewriteTransform(fuzzed.rewriter)(text)
    assert bundle.query_str.strip() or not text.strip()


@pytest.mark.parametrize("wrong", [None, 7, b"refund", ["refund"], {"query": "refund"}])
def test_what_is_no_text_is_refused_in_our_words(fuzzed: Fuzzed, wrong: Any) -> None:
    with pytest.raises(InputError, match="must be a string"):
        fuzzed.rewriter.decide(wrong)
    with pytest.raises(InputError, match="must be a string"):
        fuzzed.rewriter.retrieve(wrong)


def test_the_log_keeps_the_words_as_they_came(tmp_path: Path) -> None:
    fuzzed = Fuzzed(tmp_path / "log.jsonl")
    for text in NASTY:
        fuzzed.rewriter.record(fuzzed.rewriter.decide(text, explore=True), ())
    fuzzed.loop.close()
    assert fuzzed.check_log() == len(NASTY)
    assert [each.decision["query"] for each in read_interactions(fuzzed.log)] == list(NASTY)


def test_questions_that_no_embedder_takes_open_no_circuit(tmp_path: Path) -> None:
    """Else one client's broken texts would switch rewriting off for everybody."""
    fuzzed = Fuzzed(tmp_path / "log.jsonl")
    rewriter = RLQueryRewriter(fuzzed.retriever, checkpoint=fuzzed.checkpoint)
    for _ in range(20):
        with pytest.raises(UnicodeEncodeError):
            rewriter.retrieve("\ud800", filters=WHERE)
    assert rewriter.retrieve("refund", filters=WHERE).decision.reason == "policy"
    fuzzed.loop.close()
