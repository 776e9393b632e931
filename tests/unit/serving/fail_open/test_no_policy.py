"""A policy that can't be loaded: an error, or keep until it can."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from rl_rewriter import RLQueryRewriter
from rl_rewriter.errors import CheckpointError, InputError
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from tests.support import fixed_checkpoint
from tests.unit.serving.fail_open.parts import ASKED, assert_kept


@pytest.mark.parametrize("damage", ["missing", "corrupt", "mismatched"])
def test_a_policy_that_cannot_be_loaded(
    lexical: Bm25Retriever, tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "policy"
    sound = RLQueryRewriter(lexical, checkpoint=fixed_checkpoint(lexical, "keywords"))
    if damage != "missing":
        sound.save(folder)
    if damage == "corrupt":
        (folder / "policy.safetensors").write_bytes(b"nothing")
    if damage == "mismatched":
        manifest = (folder / "manifest.json").read_text()
        (folder / "manifest.json").write_text(manifest.replace("Keywords", "Unheard"))
    with pytest.raises(CheckpointError):
        RLQueryRewriter.load(folder, retriever=lexical)
    with caplog.at_level(logging.WARNING):
        rewriter = RLQueryRewriter.load(folder, retriever=lexical, on_error="keep")
        for _ in range(3):
            assert_kept(rewriter, lexical, "fallback:no_policy")
    assert len(caplog.records) == 1
    with pytest.raises(CheckpointError):
        rewriter.reload()
    assert_kept(rewriter, lexical, "fallback:no_policy")
    sound.save(folder if damage == "missing" else tmp_path / "again")
    if damage != "missing":
        for file in (tmp_path / "again").iterdir():
            file.replace(folder / file.name)
    rewriter.reload()
    assert rewriter.decide(ASKED).action == "keywords"
    assert rewriter.actions == sound.actions


def test_loading_takes_one_of_two_words(tmp_path: Path) -> None:
    with pytest.raises(InputError, match='"raise" or "keep", got \'ignore\''):
        RLQueryRewriter.load(tmp_path, on_error="ignore")  # type: ignore[arg-type]  # the test
    with pytest.raises(InputError, match="wasn't loaded"):
        RLQueryRewriter().reload()
