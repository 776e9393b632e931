"""Which format a path is taken for, and what is said where it is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from rl_rewriter.benchmark.collections.read import read_collection
from tests.unit.benchmark.collections.conftest import Complaint

TABLE = "question,document\na,d1\n"


def test_a_folder_with_one_judged_file(shelf: Path) -> None:
    (shelf / "judged.csv").write_text(TABLE)
    (shelf / "README.md").write_text("about")
    (shelf / ".notes.csv").write_text("hidden")
    found = read_collection(shelf)
    assert (found.name, len(found.queries)) == (shelf.name, 1)
    assert read_collection(shelf / "judged.csv").name == "judged"
    assert read_collection(shelf, name="mine").name == "mine"


def test_a_folder_with_several(shelf: Path, complaint: Complaint) -> None:
    for name in ("one.csv", "two.CSV"):
        (shelf / name).write_text(TABLE)
    assert complaint(shelf) == (
        "FOLDER holds several files of judged queries: looked for queries.jsonl (BEIR), topics.* "
        "(TREC) or one CSV, TSV or JSON file, found corpus.jsonl, one.csv, two.CSV"
    )


def test_a_folder_with_none(shelf: Path, complaint: Complaint) -> None:
    assert complaint(shelf).startswith("FOLDER holds no file of judged queries: looked for queries")
    assert complaint(shelf).endswith("found corpus.jsonl")


def test_a_file_of_another_kind(tmp_path: Path, complaint: Complaint) -> None:
    (tmp_path / "judged.xlsx").write_bytes(b"PK")
    assert complaint(tmp_path / "judged.xlsx").startswith(
        "judged.xlsx has no known ending: looked for .csv, .tsv, "
    )


@pytest.mark.parametrize("name", ["nowhere", "a\0b"])
def test_nothing_at_all(tmp_path: Path, complaint: Complaint, name: str) -> None:
    assert complaint(tmp_path / name).startswith(f"there is no file or folder {name}; DATA is a")


def test_documents_are_not_asked_for_where_they_are_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "judged.csv").write_text(TABLE)
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "a"}\n')
    (tmp_path / "qrels.tsv").write_text("q\tanything\t1\n")
    for path in (tmp_path, tmp_path / "judged.csv"):
        assert read_collection(path, documents_elsewhere=True).documents == {}
