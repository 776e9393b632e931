"""Names that data brings become names of files and of nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from rl_rewriter.benchmark.comparison.files import free_name

NAMES = ("../../etc/passwd", "/etc/passwd", "..", ".", "", "a/../b", "a\\..\\b", "a\x00b", "~root",
         "-rf", "con\n", "名前", "x" * 5_000, ".ssh", "a b;rm -rf *", "%2e%2e%2f")  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_collections_folder_lies_in_its_run(tmp_path: Path, name: str) -> None:
    folder = tmp_path / free_name(name, set())
    folder.mkdir()
    assert folder.resolve().parent == tmp_path.resolve()
    assert not folder.name.startswith((".", "-"))
