"""Arms of a file and live models beside the built-in actions."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rl_rewriter.actions.keep import Keep
from rl_rewriter.actions.llm import LlmRewrite, failed_answers
from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.actions.words import Keywords
from rl_rewriter.benchmark.extended_actions import (
    ANSWERS,
    ActionSources,
    extend_actions,
    llm_actions,
)
from rl_rewriter.benchmark.rewrites import read_rewrites
from rl_rewriter.errors import InputError
from rl_rewriter.types import Evidence, Needs, Query, Rewrite, Turn
from tests.beir import write_rows

SPACE = ActionSpace((Keep(), Keywords()))
QUERIES = (
    Query("money back?", id="1"),
    Query("hello", id="2"),
    Query("abroad?", (Turn("user", "how long is delivery?"),), id="3"),
)
DENSE = Needs.BLEND | Needs.VECTOR
MODELS = """
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from tests.support import Shout

asked = []
chat = FakeListChatModel(responses=["refund"])

def ask(prompt):
    asked.append(prompt)
    return "refund"

def down(prompt):
    raise ConnectionError("refused")

def moody(prompt):
    if "money" in prompt:
        raise ConnectionError("refused")
    return "delivery"

shout = Shout()
number = 7
"""


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A module of the user's own, in the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    (tmp_path / "models_xyz.py").write_text(MODELS)
    yield importlib.import_module("models_xyz")
    del sys.modules["models_xyz"]


def made(space: ActionSpace, name: str, query: Query) -> Rewrite | None:
    return space[space.index(name)].rewrite(Evidence(query, None))  # type: ignore[arg-type]


def test_arms_of_a_file_with_half_way_forms_where_vectors_are_mixed(tmp_path: Path) -> None:
    path = tmp_path / "rewrites.jsonl"
    write_rows(path, [{"_id": "1", "text": "refund", "arm": arm} for arm in "ab"])
    sources = ActionSources(rewrites=read_rewrites(path))
    plain, notes = extend_actions(SPACE, QUERIES, Needs.BLEND, sources)
    assert plain.names == ("keep", "keywords", "llm:a", "llm:b")
    assert notes == ()
    dense, _ = extend_actions(SPACE, QUERIES, DENSE, sources)
    assert dense.names == (*plain.names, "llm:a@0.5", "llm:b@0.5")
    assert made(dense, "llm:a@0.5", QUERIES[0]) == Rewrite(("money back?", "refund"), (0.5, 0.5))
    chosen, _ = extend_actions(SPACE, QUERIES, DENSE, ActionSources(rewrites=sources.rewrites,
                                                                    patterns="llm:b*"))  # fmt: skip
    assert chosen.names == ("keep", "llm:b", "llm:b@0.5")


def test_live_models_are_asked_beforehand_and_once(models: Any, tmp_path: Path) -> None:
    stages: set[str] = set()
    sources = ActionSources(
        llm=("models_xyz:ask",), patterns="llm:rephrase*,llm:standalone/*", cache_dir=tmp_path
    )

    def extended() -> ActionSpace:
        space, notes = extend_actions(
            SPACE, QUERIES, DENSE, sources, lambda stage, done, total: stages.add(stage)
        )
        assert notes == ()
        return space

    space = extended()
    assert space.names == (
        "keep", "llm:rephrase/ask", "llm:standalone/ask", "llm:rephrase/ask@0.5",
        "llm:standalone/ask@0.5",
    )  # fmt: skip
    assert len(models.asked) == 3  # two queries and a conversation, for all strengths; no greeting
    assert stages == {"asking llm:rephrase/ask", "asking llm:standalone/ask"}
    assert made(space, "llm:rephrase/ask", QUERIES[0]) == Rewrite(("refund",))
    assert made(space, "llm:rephrase/ask", QUERIES[1]) is None
    assert made(space, "llm:rephrase/ask", Query("never asked about")) is None
    assert made(space, "llm:standalone/ask@0.5", QUERIES[2]) == Rewrite(
        ("abroad?", "refund"), (0.5, 0.5)
    )
    assert extended().names == space.names
    assert len(models.asked) == 3  # another run asks nothing
    assert (tmp_path / ANSWERS).exists()


def test_a_chat_model_of_langchain(models: Any) -> None:
    space, _ = extend_actions(
        SPACE, QUERIES, Needs.NOTHING, ActionSources(llm=("models_xyz:chat",))
    )
    assert space.names[2:] == tuple(
        f"llm:{prompt}/chat" for prompt in ("keywords", "rephrase", "passage", "standalone")
    )
    assert made(space, "llm:keywords/chat", QUERIES[0]) == Rewrite(("money back? refund",))


def test_failures_are_noted_and_a_model_that_is_down_is_an_error(models: Any) -> None:
    space, notes = extend_actions(
        SPACE,
        QUERIES,
        DENSE,
        ActionSources(llm=("models_xyz:moody",), patterns="llm:rephrase/*"),
    )
    [note] = notes  # one for both strengths
    assert "llm:rephrase/moody: the language model failed on 1 of 2 queries" in note
    assert made(space, "llm:rephrase/moody", QUERIES[0]) == Rewrite(("money back?",))
    assert made(space, "llm:rephrase/moody", QUERIES[2]) == Rewrite(("delivery",))
    assert [failed_answers(action) for action in space] == [0, 1, 1]
    with pytest.raises(InputError, match=r"failed on all 2 queries \(ConnectionError: refused\)"):
        extend_actions(SPACE, QUERIES, DENSE, ActionSources(llm=("models_xyz:down",)))


def test_names_are_whole_where_they_would_be_equal(models: Any, tmp_path: Path) -> None:
    (tmp_path / "others_xyz.py").write_text(MODELS)
    try:
        names = [
            a.name for a in llm_actions(("models_xyz:ask", "others_xyz:ask", "models_xyz:ask"))
        ]
    finally:
        sys.modules.pop("others_xyz", None)
    assert len(names) == 8
    assert names[0] == "llm:keywords/models_xyz:ask"
    assert names[4] == "llm:keywords/others_xyz:ask"


def test_an_action_of_ones_own_is_taken_as_it_is(models: Any) -> None:
    assert llm_actions(["models_xyz:shout"], DENSE) == [models.shout]


def test_actions_for_serving_are_live(models: Any) -> None:
    [*_, action] = llm_actions(["models_xyz:ask"])
    assert isinstance(action, LlmRewrite)
    assert action.name == "llm:standalone/ask"
    assert models.asked == []


def test_what_cannot_be_asked_is_named(models: Any) -> None:
    with pytest.raises(InputError, match="models_xyz:number: cannot ask a int"):
        extend_actions(SPACE, QUERIES, DENSE, ActionSources(llm=("models_xyz:number",)))
    with pytest.raises(InputError, match="no action fits 'llm:hyde"):
        extend_actions(
            SPACE, QUERIES, DENSE, ActionSources(llm=("models_xyz:ask",), patterns="llm:hyde*")
        )
    assert models.asked == []
