"""The example runs as a reader would run it, without and with a policy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rl_rewriter.policies.checkpoint import save_checkpoint
from tests.integration.llama_index.parts import chroma_index, logged, retriever_over
from tests.support import fixed_checkpoint

EXAMPLE = Path(__file__).parents[3] / "examples" / "llama_index_engine.py"


@pytest.mark.parametrize("action", [None, "fuse_bm25@0.4"], ids=["untrained", "policy"])
def test_the_example(action: str | None, tmp_path: Path) -> None:
    arguments = []
    if action is not None:
        checkpoint = fixed_checkpoint(retriever_over(chroma_index()), action)
        save_checkpoint(checkpoint, tmp_path / "policy")
        arguments = ["policy"]
    result = subprocess.run(
        [sys.executable, str(EXAMPLE), *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    assert "account-change-email" in result.stdout
    [record] = logged(tmp_path / "decisions.jsonl")
    assert record["action"] == (action or "keep")
    assert record["reason"] == ("policy" if action else "untrained")
    assert len(record["documents"]) == 3
