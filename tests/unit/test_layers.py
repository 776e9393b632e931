"""A package imports only from the rows above its own (docs: architecture)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import rl_rewriter

PACKAGE = Path(rl_rewriter.__file__).parent
INTEGRATIONS = PACKAGE.parent / "integrations"
ROWS = (
    ("types", "errors", "folders", "forks", "untrusted", "caching", "conversation", "text"),
    ("actions", "features", "retrieval", "rewards"),
    ("policies", "envs", "logs"),
    ("training", "evaluation"),
    ("serving",),
    ("rollout", "monitoring", "telemetry"),
    ("rewriter",),
    ("benchmark",),
    ("demo",),
    ("cli", "integrations"),
)
ROW = {package: number for number, row in enumerate(ROWS) for package in row}
LIGHT_ENOUGH_FOR_ALL = ROWS[0]
"""The first row holds words rather than parts: its modules may use one another."""


def modules() -> Iterator[tuple[str, Path]]:
    """Dotted names below ``rl_rewriter`` and their files."""
    for root, prefix in ((PACKAGE, ()), (INTEGRATIONS, ("integrations",))):
        for path in sorted(root.rglob("*.py")):
            parts = (*prefix, *path.relative_to(root).with_suffix("").parts)
            name = ".".join(part for part in parts if part != "__init__")
            if name:
                yield name, path


MODULES = dict(modules())


def imported(path: Path) -> Iterator[str]:
    """Dotted names below ``rl_rewriter`` that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path} imports relatively"
            whole = f"{node.module}."
            names = [f"{whole}{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            if name.startswith("rl_rewriter."):
                yield name.removeprefix("rl_rewriter.")


def is_allowed(importer: str, target: str) -> bool:
    here, there = importer.split(".")[0], target.split(".")[0]
    if here == there or there not in ROW:  # a name of the package itself, such as __version__
        return True
    if ROW[there] != ROW[here]:
        return ROW[there] < ROW[here]
    return here in LIGHT_ENOUGH_FOR_ALL or target.split(".")[1:2] == ["protocols"]


def test_every_package_has_a_row() -> None:
    assert {name.split(".")[0] for name in MODULES} == set(ROW)


@pytest.mark.parametrize("name", MODULES)
def test_imports_go_upward(name: str) -> None:
    wrong = sorted({target for target in imported(MODULES[name]) if not is_allowed(name, target)})
    assert not wrong, f"{name} imports from its own row or below: {wrong}"


@pytest.mark.parametrize(
    ("importer", "target", "allowed"),
    [
        ("actions.words", "types.Needs", True),
        ("policies.decider", "retrieval.evidence.gather", True),
        ("envs.table", "policies.protocols.Mask", True),
        ("envs.table", "policies.mlp.MlpPolicy", False),
        ("actions.space", "features.base", False),
        ("types", "actions.keep.Keep", False),
        ("text.tokens", "errors.InputError", True),
        ("retrieval.chroma", "policies.mlp", False),
        ("cli.app", "rewriter.RLQueryRewriter", True),
    ],
)
def test_the_rule_itself(importer: str, target: str, allowed: bool) -> None:
    assert is_allowed(importer, target) is allowed


def test_the_ladder_knows_nothing_of_blends() -> None:
    names = [name for name in MODULES if name.startswith("training.ladder.")]
    seen = {target for name in names for target in imported(MODULES[name])}
    assert names
    assert not [target for target in seen if "blend" in target]


def test_the_checker_sees_imports_inside_functions() -> None:
    assert "retrieval.over_chroma.serving_retriever" in set(imported(MODULES["rewriter"]))
