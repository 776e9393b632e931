"""Light to serve: what importing, loading and deciding may not pull in."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import rl_rewriter
from rl_rewriter.policies.checkpoint import save_checkpoint
from rl_rewriter.retrieval.hybrid import HybridRetriever
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from tests.support import DOCUMENTS, QUERIES, fixed_checkpoint

PACKAGE = Path(rl_rewriter.__file__).parent
CORE = {"numpy", "safetensors", "bm25s", "rl_rewriter"}
"""What an installation without extras has."""
ADAPTERS = {
    "cli": {"typer", "rich", "click"},
    "training/blend/batches.py": {"torch"},
    "training/blend/learner.py": {"torch"},
    "training/blend/listwise.py": {"torch"},
    "training/blend/network.py": {"torch"},
    "training/blend/objective.py": {"torch"},
    "training/blend/prior.py": {"torch"},
    "training/blend/reinforce.py": {"torch"},
    "training/network.py": {"torch"},
    "training/reinforce.py": {"torch"},
    "envs/gym_env.py": {"gymnasium"},
}
"""Files and folders that exist for an optional package and may import it at their top."""

SERVE = """
import json, sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in REFUSED:
            raise ImportError(f"{name} is not installed here")

REFUSED = set(
    "torch sklearn scipy numba gymnasium typer rich chromadb pyarrow langchain_core llama_index "
    "sentence_transformers pandas jax".split()
)
sys.meta_path.insert(0, Refuse())

import rl_rewriter
assert "numpy" not in sys.modules, "importing the package alone imports nothing"
for name in rl_rewriter.__all__:
    getattr(rl_rewriter, name)
import rl_rewriter.rewriter
from rl_rewriter.retrieval.hybrid import HybridRetriever
from rl_rewriter.retrieval.in_memory import Bm25Retriever

documents, queries = json.loads(sys.argv[2]), json.loads(sys.argv[3])
retriever = HybridRetriever(Bm25Retriever(documents), Bm25Retriever(documents))
rewriter = rl_rewriter.RLQueryRewriter.load(sys.argv[1], retriever=retriever)
found = [rewriter.retrieve(query, k=3, explore=True) for query in queries]
assert all(each.ranking.ids for each in found)
assert all(each.decision.reason == "explored" for each in found)
print(sorted({name.split(".")[0] for name in sys.modules} & REFUSED))
"""


def test_serving_needs_no_optional_package(tmp_path: Path) -> None:
    retriever = HybridRetriever(Bm25Retriever(DOCUMENTS), Bm25Retriever(DOCUMENTS))
    save_checkpoint(fixed_checkpoint(retriever, "fuse_bm25@0.4"), tmp_path / "policy")
    arguments = [str(tmp_path / "policy"), json.dumps(DOCUMENTS), json.dumps(QUERIES)]
    done = subprocess.run(
        [sys.executable, "-c", SERVE, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def top_level_imports(path: Path) -> Iterator[str]:
    """Packages that are imported as soon as the file is, those for type checking left out."""
    waiting: list[ast.AST] = list(ast.parse(path.read_text(encoding="utf-8")).body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module).split(".")[0]
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            waiting.extend(node.orelse)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            waiting.extend(ast.iter_child_nodes(node))


FILES = {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}


@pytest.mark.parametrize("name", FILES)
def test_optional_packages_are_imported_where_they_are_used(name: str) -> None:
    allowed = CORE | sys.stdlib_module_names
    for place, packages in ADAPTERS.items():
        if name == place or name.startswith(f"{place}/"):
            allowed = allowed | packages
    foreign = set(top_level_imports(FILES[name])) - allowed
    assert not foreign, f"{name} imports {sorted(foreign)} at its top"


def test_the_checker_sees_what_is_at_the_top() -> None:
    assert "torch" in set(top_level_imports(FILES["training/network.py"]))
    assert "sklearn" not in set(top_level_imports(FILES["text/topics.py"]))
    assert "bm25s" not in set(top_level_imports(FILES["retrieval/bm25.py"]))
