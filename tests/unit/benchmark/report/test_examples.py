"""Most helped and most hurt queries from JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rl_rewriter.benchmark.report.examples import Document, read_examples
from rl_rewriter.errors import InputError

EXAMPLE: dict[str, Any] = {
    "query_id": "q1",
    "query": "money back?",
    "history": [{"role": "user", "text": "hello"}],
    "kind": "short",
    "action": "keywords",
    "texts": ["money", "money back?"],
    "weights": [0.4],
    "moved": True,
    "lexical_weight": None,
    "keep": 0.25,
    "policy": 0.75,
    "keep_documents": [{"id": "d1", "score": 0.9, "grade": None, "text": "Refunds"}],
    "policy_documents": [],
}


def written(folder: Path, value: Any) -> Path:
    path = folder / "examples.json"
    path.write_text(json.dumps(value))
    return path


def test_an_example_is_read_with_its_documents(tmp_path: Path) -> None:
    found = read_examples(written(tmp_path, {"helped": [EXAMPLE], "hurt": []}))
    assert found is not None
    [helped] = found.helped
    assert found.hurt == ()
    assert helped.gain == 0.5
    assert helped.history == (("user", "hello"),)
    assert helped.sent == (("money", 0.4), ("money back?", None))
    assert helped.moved is True
    assert helped.lexical_weight is None
    assert helped.counts_alike is False  # a run of an earlier version doesn't say
    assert helped.keep_documents == (Document("d1", 0.9, None, "Refunds"),)


def test_an_example_may_lack_everything(tmp_path: Path) -> None:
    found = read_examples(written(tmp_path, {"helped": [{}]}))
    assert found is not None
    assert found.helped[0].gain is None
    assert found.helped[0].sent == ()


def test_a_document_as_long_as_a_run_keeps_is_taken_for_cropped() -> None:
    assert not Document("d", None, None, "a" * 299).is_cropped
    assert Document("d", None, None, "a" * 300).is_cropped


def test_a_missing_file_is_none(tmp_path: Path) -> None:
    assert read_examples(tmp_path / "examples.json") is None


def test_a_malformed_example_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, {"helped": [EXAMPLE, {**EXAMPLE, "texts": "money"}]})
    with pytest.raises(InputError, match=r"examples.json: helped\[1\].texts must be a list"):
        read_examples(path)
