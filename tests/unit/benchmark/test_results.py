"""``results.json``: written as a whole, with p-values corrected over its collections."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rl_rewriter.benchmark.results import corrected_over_run, write_results
from rl_rewriter.errors import InputError
from rl_rewriter.folders import write_json, write_text

Record = dict[str, Any]


def outcome(p_value: float, low: float, high: float) -> Record:
    return {"delta": (low + high) / 2, "p_value": p_value, "p_holm": 9.0, "ci95": [low, high]}


def record(keep: Record | None, fixed: Record | None) -> Record:
    versus = None if keep is None else {**keep}
    return {
        "tests": {"policy_vs_keep": keep, "policy_vs_best_fixed": fixed},
        "arms": {"policy": {"versus_keep": versus}},
        "verdict": "old",
    }


NOTHING = outcome(0.9, -0.1, 0.1)


def test_each_test_is_corrected_over_the_collections() -> None:
    """Holm by hand: .01, .02 and .04 become .03, .04 and .04; .3 becomes .9, the others 1."""
    records = [
        record(outcome(0.04, 0.0, 0.2), outcome(0.5, -1.0, 1.0)),
        record(outcome(0.01, 0.1, 0.2), outcome(0.3, -1.0, 1.0)),
        record(outcome(0.02, 0.1, 0.2), outcome(0.9, -1.0, 1.0)),
    ]
    found = corrected_over_run(records)
    keep = [r["tests"]["policy_vs_keep"]["p_holm"] for r in found]
    fixed = [r["tests"]["policy_vs_best_fixed"]["p_holm"] for r in found]
    assert keep == pytest.approx([0.04, 0.03, 0.04])
    assert fixed == pytest.approx([1.0, 0.9, 1.0])
    assert [r["arms"]["policy"]["versus_keep"]["p_holm"] for r in found] == keep
    assert records[0]["tests"]["policy_vs_keep"]["p_holm"] == 9.0  # what was given is left alone


def test_collections_without_a_policy_count_for_nothing() -> None:
    found = corrected_over_run([record(None, None), record(outcome(0.04, 0.1, 0.2), NOTHING)])
    assert found[0]["verdict"] == "no policy was trained: actions alone are compared"
    assert found[1]["tests"]["policy_vs_keep"]["p_holm"] == 0.04


@pytest.mark.parametrize(
    ("keep", "fixed", "verdict"),
    [
        (outcome(0.001, -0.3, -0.1), NOTHING, "the policy is worse than leaving queries alone"),
        (outcome(0.2, -0.1, 0.2), NOTHING, "no gain"),
        (outcome(0.2, 0.01, 0.2), NOTHING, "no gain"),
        (
            outcome(0.001, 0.1, 0.2),
            outcome(0.001, 0.1, 0.2),
            "the policy beats leaving queries alone, and one action for all of them",
        ),
        (outcome(0.001, 0.1, 0.2), NOTHING, "the policy beats leaving queries alone; one action"),
        (outcome(0.001, 0.1, 0.2), outcome(0.001, -0.2, -0.1), "better than leaving queries alone"),
    ],
)
def test_the_verdict_is_one_of_five_sentences(keep: Record, fixed: Record, verdict: str) -> None:
    [found] = corrected_over_run([record(keep, fixed)])
    assert found["verdict"].startswith(verdict)


def test_a_gain_that_the_correction_takes_away_is_none() -> None:
    alone = record(outcome(0.03, 0.1, 0.2), NOTHING)
    assert corrected_over_run([alone])[0]["verdict"].startswith("the policy beats")
    among_others = [alone, *(record(NOTHING, NOTHING) for _ in range(3))]
    assert corrected_over_run(among_others)[0]["verdict"].startswith("no gain")


def test_results_are_written_and_returned(tmp_path: Path) -> None:
    found = write_results(tmp_path / "made", [record(NOTHING, NOTHING)], seed=7)
    assert json.loads((tmp_path / "made" / "results.json").read_text("utf-8")) == found
    assert (found["schema"], found["seed"], len(found["collections"])) == (1, 7, 1)


def test_text_is_written_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "text"
    write_text(path, "before")
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(path, {"x": float("nan")})
    assert path.read_text() == "before"
    write_json(path, {"x": "\ud800 é"})
    assert json.loads(path.read_text("utf-8")) == {"x": "\ud800 é"}
    assert [found.name for found in tmp_path.iterdir()] == ["text"]


@pytest.mark.parametrize("content", ['{"x": 1}', "[]", "not JSON", ""])
def test_a_file_of_someone_elses_is_left_alone(tmp_path: Path, content: str) -> None:
    (tmp_path / "results.json").write_text(content, "utf-8")
    with pytest.raises(InputError, match="isn't the result of a run and would be overwritten"):
        write_results(tmp_path, [], seed=0)
    assert (tmp_path / "results.json").read_text("utf-8") == content
    (tmp_path / "results.json").unlink()
    write_results(tmp_path, [], seed=0)
    assert write_results(tmp_path, [], seed=1)["seed"] == 1
