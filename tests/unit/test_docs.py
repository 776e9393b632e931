"""What the documents name is there: imports of their examples, files, and places in themselves."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "SECURITY.md", *(ROOT / "docs").rglob("*.md")])


def examples(page: Path) -> Iterator[ast.Module]:
    for block in re.findall(r"(?ms)^```python\n(.*?)^```", page.read_text("utf-8")):
        yield ast.parse(block)


def names(page: Path) -> Iterator[tuple[str, str]]:
    """Modules and what is imported of them, or named in full."""
    for tree in examples(page):
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("rl_rewriter"):
                yield from ((str(node.module), alias.name) for alias in node.names)
    for dotted in re.findall(r"`(rl_rewriter(?:\.\w+){2,})`", page.read_text("utf-8")):
        module, _, name = dotted.rpartition(".")
        yield module, name


def is_there(module: str, name: str) -> bool:
    """Whether it can be imported; a method may stand behind a class."""
    try:
        found = import_module(module)
    except ModuleNotFoundError:
        above, _, owner = module.rpartition(".")
        return hasattr(getattr(import_module(above), owner), name)
    if hasattr(found, name):
        return True
    return bool(import_module(f"{module}.{name}"))


def anchor(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_names_is_there(page: Path) -> None:
    text = page.read_text("utf-8")
    assert [name for name in names(page) if not is_there(*name)] == []
    titles = {anchor(title) for title in re.findall(r"(?m)^#+ (.+)$", text)}
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith("#"):
            assert target[1:] in titles, target
        elif "://" not in target:
            assert (page.parent / target.split("#")[0]).exists(), target
