"""What ``pyproject.toml`` says against what the tree holds."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from importlib import import_module
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

import rl_rewriter

ROOT = Path(__file__).parents[2]
TOML: Any = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
PROJECT: dict[str, Any] = TOML.loads((ROOT / "pyproject.toml").read_text("utf-8"))
SETUPTOOLS: dict[str, Any] = PROJECT["tool"]["setuptools"]
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
BASE: list[str] = PROJECT["project"]["dependencies"]
SHIPPED = ("rl_rewriter", "integrations")
OURS = {"rl_rewriter", "tests", "examples", "benchmarks"}


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def named(requirements: list[str]) -> set[str]:
    """Distributions of requirement lines; our own extras are followed."""
    found: set[str] = set()
    for line in requirements:
        if own := re.match(r"rl-rewriter\[(.+)\]", line):
            found.update(*(named(EXTRAS[extra]) for extra in own[1].split(",")))
        else:
            found.add(normalised(re.split(r"[<>=!~;\[ ]", line)[0]))
    return found


def python_files(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def imported_packages(path: Path) -> Iterator[str]:
    """Top-level names of everything that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


def undeclared(paths: list[Path], declared: set[str]) -> dict[str, str]:
    """Imported packages of no declared distribution, with a file that imports each."""
    homes = packages_distributions()
    foreign = {
        name: path.relative_to(ROOT).as_posix()
        for path in paths
        for name in imported_packages(path)
        if name not in sys.stdlib_module_names | OURS
    }
    return {
        name: path
        for name, path in foreign.items()
        if not declared & {normalised(home) for home in homes.get(name, [])}
    }


def test_every_package_of_the_tree_is_listed_and_no_other() -> None:
    in_tree = [
        ".".join(path.parent.relative_to(ROOT).parts)
        for path in (ROOT / "rl_rewriter").rglob("__init__.py")
    ]
    assert sorted(SETUPTOOLS["packages"]) == sorted([*in_tree, "rl_rewriter.integrations"])


def test_every_folder_with_modules_is_a_package() -> None:
    folders = {path.parent for path in python_files(*SHIPPED)}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


def test_integrations_is_flat_and_mapped_into_the_package() -> None:
    assert SETUPTOOLS["package-dir"]["rl_rewriter.integrations"] == "integrations"
    nested = [p for p in python_files("integrations") if p.parent != ROOT / "integrations"]
    assert nested == []


def test_all_files_that_are_no_modules_are_package_data() -> None:
    globs = [
        f"{package.replace('.', '/')}/{pattern}"
        for package, patterns in SETUPTOOLS["package-data"].items()
        for pattern in patterns
    ]
    files = [
        path.relative_to(ROOT).as_posix()
        for folder in SHIPPED
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and path.suffix != ".py" and "__pycache__" not in path.parts
    ]
    assert len(files) > 1
    assert [f for f in files if not any(fnmatch(f, glob) for glob in globs)] == []
    assert [glob for glob in globs if not any(fnmatch(f, glob) for f in files)] == []


def test_everything_the_library_imports_is_a_dependency_or_in_an_extra() -> None:
    extras = [line for name, lines in EXTRAS.items() if name != "dev" for line in lines]
    assert undeclared(python_files(*SHIPPED), named(BASE + extras)) == {}


def test_everything_tests_examples_and_benchmarks_import_comes_with_dev() -> None:
    paths = python_files("tests", "examples", "benchmarks")
    assert undeclared(paths, named(BASE + EXTRAS["dev"])) == {}


def test_an_error_about_a_missing_package_names_an_extra_that_brings_it() -> None:
    said = [
        tuple(ast.literal_eval(argument) for argument in node.args)
        for path in python_files(*SHIPPED)
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "MissingExtraError"
    ]
    assert said
    assert [(what, extra) for what, extra in said if what not in named(EXTRAS[extra])] == []


@pytest.mark.parametrize("extra", sorted(set(EXTRAS) - {"dev", "all"}))
def test_all_brings_every_extra(extra: str) -> None:
    assert named(EXTRAS[extra]) <= named(EXTRAS["all"])


def test_no_dependency_of_serving_is_among_the_extras() -> None:
    assert named(BASE) == {"numpy", "safetensors", "bm25s"}


def test_the_version_is_said_once() -> None:
    assert PROJECT["project"]["version"] == rl_rewriter.__version__
