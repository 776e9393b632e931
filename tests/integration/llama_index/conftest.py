from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rl_rewriter.integrations.llama_index import last_decision


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Indexes of BM25 go to a folder of the test; decisions of other tests are forgotten."""
    monkeypatch.setenv("RL_REWRITER_CACHE", str(tmp_path / "cache"))
    token = last_decision.set(None)
    yield
    last_decision.reset(token)
