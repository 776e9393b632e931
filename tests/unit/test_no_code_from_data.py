"""Nothing that is read can become code: what the package calls, by its syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import rl_rewriter
from rl_rewriter.retrieval.bm25 import Bm25Index

PACKAGE = Path(rl_rewriter.__file__).parent
ROOT = PACKAGE.parent
FILES = {
    path.relative_to(ROOT).as_posix(): path
    for folder in (PACKAGE, ROOT / "integrations")
    for path in sorted(folder.rglob("*.py"))
}
MODULES = {
    "pickle",
    "cPickle",
    "_pickle",
    "dill",
    "cloudpickle",
    "joblib",
    "shelve",
    "yaml",
    "jsonpickle",
}
MODULES |= {"subprocess", "pty", "code", "codeop", "ctypes", "cffi", "marshal", "runpy", "imp"}
CALLS = {"eval", "exec", "compile", "__import__", "execfile", "breakpoint", "import_module"}
METHODS = {"system", "popen", "execv", "execve", "spawnv", "startfile", "posix_spawn"}
LOADERS = {"torch.load", "np.load", "numpy.load", "np.fromfile", "pandas.read_pickle"}
SWITCHES = ("allow_pickle", "shell", "trust_remote_code")
ALLOWED = {
    # What this process has written itself, into a file without a name.
    ("rl_rewriter/logs/importers/spool.py", "marshal"),
    # Names of this package's own modules.
    ("rl_rewriter/__init__.py", "import_module"),
    # MODULE:OBJECT that the user names on the command line.
    ("rl_rewriter/benchmark/own_objects.py", "import_module"),
}


def dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def ways_to_code(tree: ast.AST) -> Iterator[str]:
    """Everything in a file by which data might be executed."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.split(".")[0] in MODULES)
        elif isinstance(node, ast.ImportFrom):
            if (node.module or "").split(".")[0] in MODULES:
                yield str(node.module)
        elif isinstance(node, ast.Call):
            yield from _of_call(node)


def _of_call(node: ast.Call) -> Iterator[str]:
    name = dotted(node.func)
    last = name.rpartition(".")[2]
    switches = {
        keyword.arg: isinstance(keyword.value, ast.Constant) and keyword.value.value is False
        for keyword in node.keywords
        if keyword.arg in SWITCHES
    }
    if name in CALLS or last == "import_module":
        yield last
    if last in METHODS and name.startswith("os."):
        yield name
    if name in LOADERS and not switches.get("allow_pickle"):
        yield name
    yield from (f"{name}({switch})" for switch, is_off in switches.items() if not is_off)


@pytest.mark.parametrize("name", FILES)
def test_nothing_read_becomes_code(name: str) -> None:
    found = set(ways_to_code(ast.parse(FILES[name].read_text("utf-8"))))
    assert {way for way in found if (name, way) not in ALLOWED} == set()


@pytest.mark.parametrize("exception", sorted(ALLOWED))
def test_every_exception_is_still_needed(exception: tuple[str, str]) -> None:
    name, way = exception
    assert way in set(ways_to_code(ast.parse(FILES[name].read_text("utf-8"))))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import pickle", ["pickle"]),
        ("from joblib import load", ["joblib"]),
        ("def f():\n    import subprocess", ["subprocess"]),
        ("eval('1')", ["eval"]),
        ("re.compile('a')", []),
        ("importlib.import_module(x)", ["import_module"]),
        ("np.load(p)", ["np.load"]),
        ("np.load(p, allow_pickle=False)", []),
        ("BM25.load(p, allow_pickle=True)", ["BM25.load(allow_pickle)"]),
        ("BM25.load(p, allow_pickle=False)", []),
        ("os.system('ls')", ["os.system"]),
        ("platform.system()", []),
    ],
)
def test_the_checker_sees(source: str, expected: list[str]) -> None:
    assert list(ways_to_code(ast.parse(source))) == expected


def test_stored_bm25_indexes_hold_no_pickle(tmp_path: Path) -> None:
    Bm25Index(["a"], ["money back"]).save(tmp_path / "index", fingerprint="f")
    for path in (tmp_path / "index").iterdir():
        assert path.suffix in (".json", ".npy"), path
        assert b"descr': '|O'" not in path.read_bytes()


def test_a_pickle_in_place_of_an_index_is_not_loaded(tmp_path: Path) -> None:
    folder, mark = tmp_path / "index", tmp_path / "executed"

    class Attack:
        def __reduce__(self) -> tuple[object, tuple[Path]]:
            return Path.touch, (mark,)

    Bm25Index(["a"], ["money back"]).save(folder, fingerprint="f")
    for path in folder.glob("*.npy"):
        np.save(path, np.array([Attack()], dtype=object), allow_pickle=True)
    assert Bm25Index.load(folder, fingerprint="f") is None
    assert not mark.exists()
