"""A folder with two documents, and what reading a file in it ends with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rl_rewriter.benchmark.collections.read import read_collection
from rl_rewriter.errors import InputError
from tests.beir import write_rows

Complaint = Callable[[Path], str]


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """A folder with documents d1 and d2 in ``corpus.jsonl``."""
    rows = [{"_id": "d1", "text": "Money is refunded."}, {"_id": "d2", "text": "快递两天送达。"}]
    write_rows(tmp_path / "corpus.jsonl", rows)
    return tmp_path


@pytest.fixture
def complaint(tmp_path: Path) -> Complaint:
    """The one sentence that reading ends with, folders left out of the paths."""

    def read(path: Path) -> str:
        with pytest.raises(InputError) as caught:
            read_collection(path)
        text = str(caught.value)
        assert "\n" not in text
        return text.replace(f"{tmp_path}/", "").replace(str(tmp_path), "FOLDER")

    return read
