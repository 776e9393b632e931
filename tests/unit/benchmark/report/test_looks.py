"""Training curves from JSON lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rl_rewriter.benchmark.report.looks import Look, read_curves
from rl_rewriter.errors import InputError


def written(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_each_fold_and_seed_is_a_curve_in_the_order_of_updates(tmp_path: Path) -> None:
    path = written(
        tmp_path / "training.jsonl",
        {"fold": 0, "seed": 1, "update": 20, "reward": 0.2, "kl": 2.0},
        {"fold": 0, "seed": 1, "update": 10, "reward": 0.1, "kl": None},
        {"fold": 1, "seed": 1, "update": 10, "reward": 0.3},
    )
    first, second = read_curves([path])
    assert first.name == "fold 0, seed 1"
    assert first.looks == (Look(10.0, 0.1, None), Look(20.0, 0.2, 2.0))
    assert second.looks == (Look(10.0, 0.3, None),)


def test_metrics_as_training_itself_writes_them_are_read_too(tmp_path: Path) -> None:
    line = {"update": 25, "train/kl": 1.5, "train/reward": 9.0, "validation/reward": 0.05}
    [curve] = read_curves([written(tmp_path / "metrics.jsonl", line)])
    assert (curve.name, curve.looks) == ("metrics", (Look(25.0, 0.05, 1.5),))


def test_lines_without_an_update_are_skipped(tmp_path: Path) -> None:
    assert read_curves([written(tmp_path / "metrics.jsonl", {"note": "started"})]) == ()
    assert read_curves([]) == ()


def test_a_malformed_line_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "training.jsonl", {"update": 1}, {"update": "two"})
    with pytest.raises(InputError, match=r"training.jsonl line 2: update must be a finite number"):
        read_curves([path])
