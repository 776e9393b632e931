"""Objects of the user's own code, found by name."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rl_rewriter.benchmark.own_objects import load_object, load_retriever
from rl_rewriter.errors import InputError
from rl_rewriter.types import Rewrite
from tests.support import DOCUMENTS

SOURCE = """
import functools

number = 7
text = "refund"

class Chain:
    def __init__(self, word="made"):
        self.word = word
    def invoke(self, prompt):
        return self.word
    class inner:
        value = "deep"

chain = Chain("as it stands")
make = lambda: Chain("by a factory")
make_with_default = functools.partial(Chain, word="by a partial")

def ask(prompt):
    return prompt

def search(texts, k):
    return [[("card", 0.9), ("refund", 0.5)][:k] for _ in texts]

def anything(*args, **kwargs):
    return kwargs

def breaks():
    raise ValueError("no key")

def quits():
    raise SystemExit(2)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, with a package of the user's own in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    package = tmp_path / "mine_xyz"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "parts.py").write_text(SOURCE)
    (package / "broken.py").write_text("import not_installed_xyz")
    (package / "wrong.py").write_text("1 / 0")
    (package / "script.py").write_text("import sys; sys.exit('usage')")
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("mine_xyz")]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("chain", "as it stands"),
        ("make", "by a factory"),
        ("make_with_default", "by a partial"),
        ("Chain", "made"),
    ],
)
def test_objects_are_taken_and_factories_called(name: str, word: str) -> None:
    assert load_object(f"mine_xyz.parts:{name}").word == word


def test_what_needs_arguments_is_no_factory() -> None:
    assert load_object("mine_xyz.parts:ask")("a") == "a"
    assert load_object("mine_xyz.parts:anything")(a=1) == {"a": 1}
    assert load_object("mine_xyz.parts:number") == 7
    assert load_object("mine_xyz.parts:Chain.inner.value") == "deep"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "named MODULE:OBJECT, such as .*got ''"),
        ("mine_xyz.parts", "is named MODULE:OBJECT"),
        ("mine_xyz.parts:", "is named MODULE:OBJECT"),
        (":ask", "is named MODULE:OBJECT"),
        ("mine_xyz/parts.py:ask", "is named MODULE:OBJECT"),
        ("a:b:c", "is named MODULE:OBJECT"),
        ("nowhere_xyz:ask", "there is no module 'nowhere_xyz', neither installed nor in /"),
        ("mine_xyz.nowhere:ask", "there is no module 'mine_xyz.nowhere'"),
        ("mine_xyz.broken:ask", "importing mine_xyz.broken failed: No module named 'not_instal"),
        ("mine_xyz.wrong:ask", r"importing mine_xyz.wrong failed \(ZeroDivisionError"),
        ("mine_xyz.script:ask", r"importing mine_xyz.script failed \(SystemExit: usage\)"),
        (
            "mine_xyz.parts:aks",
            "mine_xyz.parts has no 'aks'; it has Chain, anything, ask",
        ),
        ("mine_xyz.parts:chain.no", "mine_xyz.parts has no 'chain.no'; it has inner, invoke, word"),
        ("mine_xyz.parts:number.no", "has no 'number.no'"),
        ("mine_xyz.parts:breaks", r"mine_xyz.parts:breaks\(\) failed \(ValueError: no key\)"),
        ("mine_xyz.parts:quits", r"quits\(\) failed \(SystemExit: 2\)"),
    ],
)
def test_what_cannot_be_loaded_is_named(spec: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_object(spec)


def test_a_retriever_over_known_documents() -> None:
    retriever = load_retriever("mine_xyz.parts:search", DOCUMENTS)
    assert retriever.name == "search"
    assert retriever.n_documents == len(DOCUMENTS)
    [ranking] = retriever.search([Rewrite(("money",))], k=5)
    assert ranking.ids == ("card", "refund")


def test_something_else_than_a_retriever_is_named() -> None:
    with pytest.raises(InputError, match=r"mine_xyz.parts:text: cannot search with a str"):
        load_retriever("mine_xyz.parts:text", DOCUMENTS)
