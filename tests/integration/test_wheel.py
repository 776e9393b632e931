"""What a user gets: the built wheel and source distribution."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ("pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "rl_rewriter", "integrations")
LEFT_BEHIND = shutil.ignore_patterns("__pycache__", "*.egg-info")
TOP_LEVEL = "rl_rewriter"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What the build said, and the folder with both archives; built from a copy of the tree."""
    tree, out = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("dist")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tree / name, ignore=LEFT_BEHIND)
        elif (ROOT / name).exists():
            shutil.copy(ROOT / name, tree)
    # A folder of tests at the root is what automatic discovery would have picked up.
    (tree / "tests").mkdir()
    (tree / "tests" / "__init__.py").touch()
    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", out, tree],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout, out


@pytest.fixture(scope="module")
def wheel(built: tuple[str, Path]) -> set[str]:
    """Names of the wheel's files."""
    with zipfile.ZipFile(next(built[1].glob("*.whl"))) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def sdist(built: tuple[str, Path]) -> set[str]:
    """Names of the source distribution's files, without its own folder."""
    with tarfile.open(next(built[1].glob("*.tar.gz"))) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def in_tree(folder: str, suffixes: Iterable[str]) -> set[str]:
    return {
        path.relative_to(ROOT).as_posix()
        for suffix in suffixes
        for path in (ROOT / folder).rglob(f"*{suffix}")
    }


def test_the_wheel_holds_one_top_level_package_and_its_metadata(wheel: set[str]) -> None:
    tops = {PurePosixPath(name).parts[0] for name in wheel}
    assert {top for top in tops if not top.endswith(".dist-info")} == {TOP_LEVEL}


def test_the_wheel_holds_every_module_and_the_mark_of_types(wheel: set[str]) -> None:
    assert in_tree("rl_rewriter", [".py", "py.typed"]) - wheel == set()


def test_the_wheel_holds_the_adapters_inside_the_package(wheel: set[str]) -> None:
    adapters = in_tree("integrations", [".py"])
    assert "integrations/langchain.py" in adapters
    assert {f"rl_rewriter/{name}" for name in adapters} - wheel == set()


def test_the_wheel_holds_the_demo_corpus(wheel: set[str]) -> None:
    corpus = in_tree("rl_rewriter/demo/corpus", [".jsonl", ".tsv", ".md"])
    assert len(corpus) >= 9
    assert corpus - wheel == set()


def test_the_wheel_holds_what_the_report_is_made_of(wheel: set[str]) -> None:
    parts = in_tree("rl_rewriter/benchmark/report", [".css", ".js", ".j2"])
    assert len(parts) >= 3
    assert parts - wheel == set()


def test_the_wheel_names_the_command_and_the_licence(built: tuple[str, Path]) -> None:
    with zipfile.ZipFile(next(built[1].glob("*.whl"))) as archive:
        told = {
            PurePosixPath(name).name: archive.read(name).decode("utf-8")
            for name in archive.namelist()
            if ".dist-info/" in name
        }
    assert "rl-rewriter = rl_rewriter.cli:main" in told["entry_points.txt"]
    assert told["LICENSE"].startswith("MIT License")
    assert "License-Expression: MIT" in told["METADATA"]


def test_a_wheel_can_be_built_from_the_source_distribution(sdist: set[str]) -> None:
    needed = in_tree("rl_rewriter", [".py", ".jsonl", ".tsv", ".css", ".js", ".j2"])
    needed |= in_tree("integrations", [".py"])
    assert (needed | {"pyproject.toml", "LICENSE", "rl_rewriter/py.typed"}) - sdist == set()


def test_the_build_has_nothing_to_warn_about(built: tuple[str, Path]) -> None:
    loud = ("absent from the `packages` configuration", "SetuptoolsDeprecationWarning")
    assert [text for text in loud if text in built[0]] == []
