"""Checkpoints that earlier versions wrote still load and still decide the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rl_rewriter import RLQueryRewriter
from tests.regression.make_old_checkpoint import ASKED, DATA, small_world, summary

OLD = sorted(path.parent for path in DATA.glob("*/decisions.json"))


def test_there_is_an_old_checkpoint() -> None:
    assert OLD


@pytest.mark.parametrize("folder", OLD, ids=lambda folder: folder.name)
def test_it_still_decides_the_same(folder: Path, tmp_path: Path) -> None:
    rewriter = RLQueryRewriter.load(folder / "policy", retriever=small_world(tmp_path))
    expected = json.loads((folder / "decisions.json").read_text(encoding="utf-8"))
    assert len({decision["action"] for decision in expected}) > 3
    assert folder.name.endswith("views") == ("blend" in {one["action"] for one in expected})
    for query, before in zip(ASKED, expected, strict=True):
        now = summary(rewriter.decide(query))
        for name in {"preferences", "vector", "lexical_weight", "lexical_shares"} & before.keys():
            value = before.pop(name)
            assert now[name] == (value if value is None else pytest.approx(value, abs=1e-4))
        assert {name: now[name] for name in before} == before
