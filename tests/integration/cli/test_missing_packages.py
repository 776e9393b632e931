"""A package that isn't installed is named with the line that installs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.cli.conftest import shell

HIDE = """
import sys

from tests.hiding import hide

hide(sys.argv.pop(1))

from rl_rewriter.cli import main

main()
"""


@pytest.mark.parametrize(
    ("hidden", "words", "expected"),
    [
        ("typer", "--help", 'typer is not installed; run: pip install "rl-rewriter[train]"'),
        ("rich", "--help", 'rich is not installed; run: pip install "rl-rewriter[train]"'),
        (
            "torch",
            "train DATA --out OUT --base bm25",
            'torch is not installed; run: pip install "rl-rewriter[train]"',
        ),
        (
            "torch",
            "benchmark DATA --out OUT --base bm25",
            'torch is not installed; run: pip install "rl-rewriter[train]"',
        ),
        (
            "sklearn",
            "headroom DATA --base tfidf",
            'scikit-learn is not installed; run: pip install "rl-rewriter[train]"',
        ),
        (
            "chromadb",
            "headroom DATA --embedder minilm",
            'chromadb is not installed; run: pip install "rl-rewriter[chroma]"',
        ),
    ],
)
def test_a_package_that_is_not_installed_is_named_with_the_line_that_installs_it(
    data: Path, tmp_path: Path, hidden: str, words: str, expected: str
) -> None:
    words = words.replace("DATA", str(data)).replace("OUT", str(tmp_path / "policy"))
    done = shell(HIDE, hidden, *words.split())
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"error: {expected}\n"
