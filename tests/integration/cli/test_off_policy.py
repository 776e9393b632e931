"""``ope`` and ``gate``: what a policy would earn by a log, and whether to deploy it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rl_rewriter.logs.bandit import LoggedBandit
from rl_rewriter.policies.checkpoint import save_checkpoint
from tests.forms import assert_has_form
from tests.integration.cli.conftest import Cli
from tests.logged import decision, feedback, write_lines
from tests.unit.evaluation.off_policy.logs import policy_that_likes, uniform_log

ESTIMATE = {"value": float, "ci95": [float, float], "ess": float, "max_weight": float}
ESTIMATORS = ("ips", "snips", "dm", "dr", "sndr", "switch_dr", "dr_shrink")
OPE = {
    "schema": int,
    "n": int,
    "n_usable": int,
    "logged_value": float,
    "estimates": dict.fromkeys(ESTIMATORS, ESTIMATE),
    "warnings": list,
}
GATE = {
    "schema": int,
    "promote": bool,
    "delta": float,
    "ci95": [float, float],
    "baseline": str,
    "estimator": str,
    "reason": str,
    "records_needed": (int, type(None)),
    "p_value": float,
    "n": int,
    "n_usable": int,
    "warnings": list,
}


def records(log: LoggedBandit, **changed: Any) -> Iterator[dict[str, Any]]:
    """A log's decisions and their feedback in the published format."""
    for row, name in enumerate(log.decision_ids):
        yield decision(
            name,
            **{
                "action": log.action_names[log.actions[row]],
                "probabilities": dict.fromkeys(log.action_names, 1 / 3),
                "state": [float(value) for value in log.states[row]],
                "state_schema": log.columns_fingerprint,
                **changed,
            },
        )
        yield feedback(name, float(log.rewards[row]), time=101.0)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_lines(tmp_path_factory.mktemp("log") / "log.jsonl", records(uniform_log(1500)))


@pytest.fixture(scope="module")
def policies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Saved policies: of .7, .5 and .3 where the log earned .5."""
    folder = tmp_path_factory.mktemp("policies")
    checkpoints = {"good": (1, 0), "same": (2, 0), "bad": (0, 1)}
    for name, (first, second) in checkpoints.items():
        save_checkpoint(policy_that_likes(first, second), folder / name)
    return {name: folder / name for name in checkpoints}


def test_ope_prints_every_estimator(cli: Cli, log: Path, policies: dict[str, Path]) -> None:
    found = cli("ope", "--policy", policies["good"], "--logs", log, "--json")
    assert (found.code, found.err) == (0, "")
    assert_has_form(found.record, OPE)
    assert (found.record["n"], found.record["n_usable"], found.record["warnings"]) == (
        1500,
    ) * 2 + ([],)
    assert found.record["logged_value"] == pytest.approx(0.5, abs=0.05)
    for name, estimate in found.record["estimates"].items():
        low, high = estimate["ci95"]
        assert low < estimate["value"] < high
        # Keywords turns from bad to good at once, which the direct method's model smooths.
        close = 0.12 if name == "dm" else 0.07
        assert estimate["value"] == pytest.approx(0.7, abs=close)


def test_ope_in_words(cli: Cli, log: Path, policies: dict[str, Path]) -> None:
    words = ("ope", "--policy", policies["good"], "--logs", log, "--interval", "bootstrap")
    found = cli(*words)
    assert (found.code, found.err) == (0, "")
    assert "1500 of 1500 decisions, 1500 of them with a propensity" in found.out
    assert "switch_dr" in found.out
    assert cli(*words).out == found.out
    assert cli(*words, "--seed", "1").out != found.out


def test_exploring_and_greedy_policies_are_worth_different_things(
    cli: Cli, log: Path, policies: dict[str, Path]
) -> None:
    words = ("ope", "--policy", policies["good"], "--logs", log, "--json")
    greedy, drawn = (cli(*words, *more).record["estimates"]["dr"] for more in ((), ("--explore",)))
    assert greedy["ess"] < drawn["ess"]
    assert greedy["value"] != drawn["value"]


@pytest.mark.parametrize("baseline", ["logged", "keep", "same"])
def test_a_better_policy_is_promoted(
    cli: Cli, log: Path, policies: dict[str, Path], baseline: str
) -> None:
    against = policies.get(baseline, baseline)
    words = ("gate", "--policy", policies["good"], "--logs", log, "--baseline", against)
    found = cli(*words, "--json")
    assert (found.code, found.err) == (0, "")
    assert_has_form(found.record, GATE)
    assert (found.record["promote"], found.record["baseline"]) == (True, str(against))
    assert found.record["records_needed"] == 0
    told = cli(*words)
    assert told.code == 0
    assert told.out.startswith(f"promote {policies['good']}: the gain is shown: +0.")


@pytest.mark.parametrize("name", ["bad", "same"])
def test_any_other_is_refused_with_exit_code_3(
    cli: Cli, log: Path, policies: dict[str, Path], name: str
) -> None:
    words = ("gate", "--policy", policies[name], "--logs", log, "--baseline", policies["same"])
    found = cli(*words, "--json")
    assert (found.code, found.err) == (3, "")
    assert_has_form(found.record, GATE)
    assert (found.record["promote"], found.record["records_needed"]) == (False, None)
    assert found.record["reason"].startswith("no gain above the margin 0")
    told = cli(*words)
    assert told.code == 3
    assert told.out.startswith("refuse ")


def test_of_several_candidates_the_best_is_told_beside_all(
    cli: Cli, log: Path, policies: dict[str, Path]
) -> None:
    candidates = [option for folder in policies.values() for option in ("--policy", folder)]
    found = cli("gate", *candidates, "--logs", log, "--json")
    assert found.code == 0
    assert found.record["policy"] == str(policies["good"])
    assert found.record["promote"]
    promoted = {name: one["promote"] for name, one in found.record["candidates"].items()}
    assert promoted == {str(folder): name == "good" for name, folder in policies.items()}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--margin", "0.5"), "no gain above the margin 0.5"),
        (("--max-age-days", "30"), "the latest record is "),
    ],
)
def test_thresholds_are_the_users(
    cli: Cli, log: Path, policies: dict[str, Path], options: tuple[str, ...], expected: str
) -> None:
    found = cli("gate", "--policy", policies["good"], "--logs", log, *options, "--json")
    assert found.code == 3
    assert found.record["reason"].startswith(expected)


def test_records_without_propensity_are_told(
    cli: Cli, tmp_path: Path, policies: dict[str, Path]
) -> None:
    imported = write_lines(
        tmp_path / "imported.jsonl",
        records(uniform_log(200), probabilities=None, propensity=None, explored=False),
    )
    words = ("--policy", policies["good"], "--logs", imported, "--json")
    found = cli("ope", *words)
    assert (found.code, found.record["n"], found.record["n_usable"]) == (0, 200, 0)
    assert list(found.record["estimates"]) == ["dm"]
    assert "none of the 200 records has a propensity" in found.record["warnings"][0]
    refused = cli("gate", *words)
    assert (refused.code, refused.record["delta"]) == (3, None)
    assert "none of the 200 records has a propensity" in refused.record["reason"]


def test_conversations_are_no_independent_evidence_unless_asked(
    cli: Cli, tmp_path: Path, policies: dict[str, Path]
) -> None:
    tagged = [
        record | {"tags": {"session_id": f"c{number // 20}"}} if "tags" in record else record
        for number, record in enumerate(records(uniform_log(400)))
    ]
    path = write_lines(tmp_path / "tagged.jsonl", tagged)
    words = ("gate", "--policy", policies["good"], "--logs", path, "--json")
    found = cli(*words)
    assert found.code == 3
    assert found.record["reason"].startswith("too few conversations: 40, at least 100 are needed")
    assert cli(*words, "--independent").code == 0


def test_decisions_left_out_are_counted(
    cli: Cli, tmp_path: Path, policies: dict[str, Path]
) -> None:
    whole = list(records(uniform_log(400)))
    without_feedback = [record for record in whole if record["type"] == "decision"][:100]
    names = {record["id"] for record in without_feedback}
    some = [record for record in whole if record.get("decision_id") not in names]
    words = ("ope", "--policy", policies["good"], "--json", "--logs")
    found = cli(*words, write_lines(tmp_path / "some.jsonl", some)).record
    assert (found["n"], found["n_usable"]) == (400, 300)
    assert "judged by 300 of 400 decisions (100 no_feedback left out)" in found["warnings"]
    given = cli(*words, tmp_path / "some.jsonl", "--default-reward", "0").record
    assert (given["n"], given["n_usable"], given["warnings"]) == (400, 400, [])
    assert math.isclose(given["logged_value"], 0.75 * found["logged_value"])


def test_bad_outcomes_that_were_never_told_refuse(
    cli: Cli, tmp_path: Path, policies: dict[str, Path]
) -> None:
    whole = list(records(uniform_log(800)))
    words = ("gate", "--policy", policies["good"], "--json", "--logs")
    good = [record for record in whole if record["type"] == "decision" or record["value"]]
    refused = cli(*words, write_lines(tmp_path / "good.jsonl", good))
    assert (refused.code, refused.record["promote"]) == (3, False)
    assert refused.record["reason"].startswith("all rewards are 1: nothing tells actions apart")
    assert refused.record["n"] == 800
    assert refused.record["n_usable"] == len(good) - 800
    scored = [
        record | {"kind": "user_score", "value": 2 * record["value"] - 1}
        if record["type"] == "feedback"
        else record
        for record in whole
    ]
    lost = cli(*words, write_lines(tmp_path / "scored.jsonl", scored))
    assert lost.code == 3
    assert "feedback values are off their scale (of kind 'user_score')" in lost.record["reason"]
    assert any("kind 'user_score' are off its scale" in line for line in lost.record["warnings"])


def test_a_log_that_is_mostly_silent_is_warned_of(
    cli: Cli, tmp_path: Path, policies: dict[str, Path]
) -> None:
    whole = list(records(uniform_log(400)))
    some = [record for n, record in enumerate(whole) if record["type"] == "decision" or n % 8 == 1]
    path = write_lines(tmp_path / "silent.jsonl", some)
    for command in ("ope", "gate"):
        words = (command, "--policy", policies["good"], "--logs", path)
        warnings = cli(*words, "--json").record["warnings"]
        assert warnings[1].startswith("300 of 400 decisions have no feedback and were left out")
        assert "warning: 300 of 400 decisions have no feedback" in cli(*words).out


@pytest.mark.parametrize("command", ["ope", "gate"])
@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        (
            {"state_schema": "other"},
            "the log's states are of other features (state_schema 'other')",
        ),
        ({"state": None}, "the log holds no states"),
    ],
)
def test_a_log_that_the_policy_cannot_read_is_refused_in_one_line(
    cli: Cli,
    tmp_path: Path,
    policies: dict[str, Path],
    command: str,
    changed: dict[str, Any],
    complaint: str,
) -> None:
    other = write_lines(tmp_path / "other.jsonl", records(uniform_log(10), **changed))
    found = cli(command, "--policy", policies["good"], "--logs", other)
    assert found.complaint.startswith(complaint)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("ope --policy nowhere --logs LOG", "nowhere/manifest.json does not exist"),
        ("ope --policy POLICY --logs nowhere", "there is no decision log at nowhere"),
        ("ope --policy POLICY --logs LOG --interval wide", "interval must be t, bootstrap or"),
        ("gate --policy nowhere --logs LOG", "nowhere/manifest.json does not exist"),
        ("gate --policy POLICY --logs nowhere", "there is no decision log at nowhere"),
        ("gate --policy POLICY --logs LOG --baseline best", "best/manifest.json does not exist"),
        ("gate --policy POLICY --logs LOG --level 2", "level must lie between 0.5 and 1, got 2.0"),
        ("gate --policy POLICY --logs LOG --max-age-days nan", "max_age_days must be a number of"),
        ("gate --policy POLICY --logs LOG --margin nan", "margin must be a finite number"),
        ("gate --policy POLICY --logs LOG --estimator dm", "estimator must be one of auto"),
        ("gate --policy POLICY --logs LOG --default-reward inf", "the default reward must be a"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    cli: Cli, log: Path, policies: dict[str, Path], words: str, complaint: str
) -> None:
    filled = words.replace("POLICY", str(policies["good"])).replace("LOG", str(log))
    assert cli(*filled.split()).complaint.startswith(complaint)


@pytest.mark.parametrize("words", ["ope --logs LOG", "gate --policy POLICY", "gate"])
def test_wrong_usage_ends_with_2(cli: Cli, words: str) -> None:
    assert cli(*words.split()).code == 2
