"""A log as arrays, worked out by hand; what can't be used is left out and counted."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rl_rewriter.errors import InputError
from rl_rewriter.logs.convert import write_records
from rl_rewriter.logs.dataset import DatasetReport, LoggedBandit, dataset
from rl_rewriter.logs.gathered_decisions import MAX_ACTIONS
from rl_rewriter.logs.gathered_feedback import MAX_KINDS
from rl_rewriter.logs.report import ReadReport
from rl_rewriter.rewards.composition import RewardComposition
from rl_rewriter.rewards.feedback import Expiry
from tests.logged import DRAWN, decision, feedback, write_lines

NO_STATE = {"state": None, "state_schema": ""}
GREEDY = {
    "probabilities": {"keep": 0.0, "keywords": 1.0},
    "explored": False,
    "reason": "policy",
}
IMPORTED: dict[str, Any] = {
    "propensity": None,
    "probabilities": {},
    "action": "keep",
    "reason": "imported",
}


def made(*records: Any, **settings: Any) -> tuple[LoggedBandit, DatasetReport]:
    return dataset(records, **settings)


def test_a_log_by_hand() -> None:
    bandit, report = made(
        decision("1", tags={"session_id": "s"}, state=[0.5, 2.0]),
        feedback("1", -2.0),
        decision("2", action="keep", probabilities={"rotate": 0.25, "keep": 0.75}, cost=0.5),
        feedback("2", 4.0, time=300.0),
        feedback("2", 3.0),
    )
    assert bandit.decision_ids == ("1", "2")
    assert bandit.action_names == ("keep", "keywords", "topic", "rotate")
    assert bandit.columns_fingerprint == "columns"
    assert bandit.states.dtype == np.float32
    np.testing.assert_array_equal(bandit.states, [[0.5, 2.0], [0.25, -1.0]])
    assert bandit.actions.tolist() == [1, 0]
    assert bandit.propensities.tolist() == [0.3, 0.75]
    np.testing.assert_array_equal(bandit.probabilities, [[0.5, 0.3, 0.2, 0], [0.75, 0, 0, 0.25]])
    np.testing.assert_array_equal(bandit.mask, [[1, 1, 1, 0], [1, 0, 0, 1]])
    assert bandit.rewards.tolist() == [-2.0, 4.0 - 0.5]
    assert bandit.groups == ("s", "2")
    assert bandit.times.tolist() == [100.0, 100.0]
    assert bandit.parts["reward"].tolist() == [-2.0, 4.0]
    assert (report.records, report.decisions, report.feedback, report.rows) == (5, 2, 3, 2)
    assert report.in_words == "2 of 2 decisions"


def test_keep_is_first_although_no_decision_names_it() -> None:
    bandit, _ = made(decision("1", probabilities={"b": 0.5, "a": 0.5}, action="a"), feedback("1"))
    assert bandit.action_names == ("keep", "a", "b")
    assert bandit.mask.tolist() == [[False, True, True]]


def test_feedback_may_come_before_its_decision_and_through_its_trace() -> None:
    bandit, report = made(
        feedback("1", 1.0),
        feedback("trace", 3.0),
        feedback("nobody"),
        decision("1"),
        decision("2", tags={"trace_id": "trace"}),
        decision("3", tags={"trace_id": "trace"}),
    )
    assert bandit.rewards.tolist() == [1.0, 3.0, 3.0]
    assert bandit.groups == ("1", "trace", "trace")
    assert report.feedback_counts == {"unknown_decision": 1}


def test_what_teaches_nothing_is_left_out_and_counted() -> None:
    answered = [feedback(str(number)) for number in range(10)]
    bandit, report = made(
        decision("0"),
        decision("1", reason="fallback:search"),
        decision("2", reason="untrained", probabilities={"keep": 1.0}, action="keep"),
        decision("3", **GREEDY),
        decision("4", **NO_STATE),
        decision("5", state_schema="others"),
        decision("0", action="topic"),
        *answered,
        decision("unanswered"),
    )
    assert bandit.decision_ids == ("0",)
    assert report.counts == {
        "fallback": 1,
        "untrained": 1,
        "deterministic": 1,
        "duplicate_id": 1,
        "no_state": 1,
        "other_state_schema": 1,
        "no_feedback": 1,
    }
    assert report.decisions == 8
    assert report.feedback_counts == {"unknown_decision": 4}
    assert report.problems == ()
    assert report.in_words.startswith("1 of 8 decisions (1 fallback, 1 untrained, ")


def test_certain_decisions_can_be_asked_for() -> None:
    untrained = {"reason": "untrained", "probabilities": {"keep": 1.0}, "action": "keep"}
    records = [decision("1", **GREEDY), decision("2", **untrained), feedback("1"), feedback("2")]
    bandit, _ = made(*records, include=("untrained", "deterministic"))
    assert bandit.propensities.tolist() == [1.0, 1.0]
    assert bandit.mask.tolist() == [[True, True], [True, False]]


def test_the_only_possible_action_is_as_good_as_drawn() -> None:
    bandit, _ = made(decision("1", probabilities={"keywords": 1.0}), feedback("1"))
    assert len(bandit) == 1


@pytest.mark.parametrize(
    ("changed", "reason", "sentence"),
    [
        ({"action": "rotate"}, "impossible", "took 'rotate', whose probability is 0"),
        ({"probabilities": {"keywords": 0.5}}, "probabilities", "probabilities that sum to 0.5"),
        ({"propensity": 0.4}, "propensity", "propensity 0.4 beside a probability of 0.3"),
        ({"propensity": 1.5, "probabilities": None}, "propensity", "which is above 1"),
    ],
)
def test_contradictions_are_named_by_their_line(
    tmp_path: Path, changed: dict[str, Any], reason: str, sentence: str
) -> None:
    records = [decision("good"), feedback("good"), decision("bad", **changed), feedback("bad")]
    path = write_lines(tmp_path / "log.jsonl", records)
    bandit, report = dataset(path)
    assert bandit.decision_ids == ("good",)
    assert report.counts == {reason: 1}
    [problem] = report.problems
    assert problem.startswith(f"{path} line 3 ")
    assert sentence in problem
    assert problem.endswith(", and was left out")
    with pytest.raises(InputError, match="line 3"):
        dataset(path, reading=ReadReport(strict=True))


def test_imported_decisions_have_no_propensity() -> None:
    bandit, report = made(
        decision("1", **IMPORTED, **NO_STATE),
        decision("2", **NO_STATE),
        feedback("1"),
        feedback("2"),
    )
    assert np.isnan(bandit.propensities).tolist() == [True, False]
    assert np.isnan(bandit.probabilities).tolist() == [[True] * 3, [False] * 3]
    assert bandit.mask.all()
    assert bandit.states.shape == (2, 0)
    assert bandit.columns_fingerprint == ""
    assert report.without_propensity == 1


def test_a_propensity_without_the_distribution_is_used() -> None:
    bandit, _ = made(decision("1", probabilities=None, propensity=0.25), feedback("1"))
    assert bandit.propensities.tolist() == [0.25]
    assert bandit.mask.all()


def test_a_distribution_without_the_propensity_is_used() -> None:
    bandit, _ = made(decision("1", propensity=None), feedback("1"))
    assert bandit.propensities.tolist() == [0.3]


@pytest.mark.parametrize(
    ("expiry", "rewards", "counts", "defaulted"),
    [
        (Expiry(), {"old": 1.0, "new": 1.0}, {"no_feedback": 2}, 0),
        (Expiry(after=50.0), {"old": 1.0, "new": 1.0}, {"pending": 1, "no_feedback": 1}, 0),
        (
            Expiry(after=50.0, default=0.0),
            {"old": 1.0, "new": 1.0, "old silent": -0.5},
            {"pending": 1},
            1,
        ),
        (
            Expiry(after=50.0, default=0.0, mature_only=True),
            {"old": 1.0, "old silent": -0.5},
            {"pending": 2},
            1,
        ),
        (
            Expiry(default=0.25),
            {"old": 1.0, "new": 1.0, "old silent": -0.25, "new silent": -0.25},
            {},
            2,
        ),
    ],
)
def test_feedback_that_never_comes(
    expiry: Expiry, rewards: dict[str, float], counts: dict[str, int], defaulted: int
) -> None:
    """With a cost of .5 a decision, which a default reward bears as well."""
    bandit, report = made(
        decision("old", time=100.0, cost=0.5),
        decision("old silent", time=100.0, cost=0.5),
        decision("new", time=190.0, cost=0.5),
        decision("new silent", time=190.0, cost=0.5),
        feedback("old", 1.5),
        feedback("new", 1.5),
        expiry=expiry,
        now=200.0,
    )
    assert dict(zip(bandit.decision_ids, bandit.rewards, strict=True)) == rewards
    assert report.counts == counts
    assert report.defaulted == defaulted


def test_clicks_get_their_rank_from_what_was_returned() -> None:
    documents = [{"id": name, "score": 1.0} for name in "abcd"]
    bandit, report = made(
        decision("1", documents=documents),
        decision("2", documents=documents),
        decision("3", documents=[]),
        feedback("1", 1, "click", document_id="d"),
        feedback("2", 1, "click", document_id="elsewhere"),
        feedback("3", 1, "click", document_id="unknowable"),
        feedback("2", 1, "click", document_id="d", position=1),
    )
    np.testing.assert_allclose(bandit.rewards, [1 / math.log2(5), 1 / math.log2(3), 1.0])
    assert report.feedback_counts == {"document_not_returned": 1}


def test_values_off_the_scale_are_told() -> None:
    bandit, report = made(decision("1"), feedback("1", 1, "thumb"), feedback("1", 80, "quality"))
    assert bandit.rewards.tolist() == [1.0]
    assert report.feedback_counts == {"off_scale": 1}
    assert "1 feedback values of kind 'quality' are off its scale" in report.problems[0]


def test_the_composition_is_obeyed() -> None:
    composition = RewardComposition(weights={"copy": 1.0}, cost_weight=0.0)
    bandit, _ = made(
        decision("1", cost=9.0),
        feedback("1", 1, "copy"),
        feedback("1", -1, "thumb"),
        composition=composition,
    )
    assert bandit.rewards.tolist() == [1.0]


def test_most_rows_decide_which_columns_count() -> None:
    records = [
        decision("1", state=[1.0], state_schema="old"),
        decision("2", state=[1.0, 2.0], state_schema="new"),
        decision("3", state=[3.0, 4.0], state_schema="new"),
        decision("4", state=[5.0], state_schema="new"),
    ]
    bandit, report = made(*records, *(feedback(str(number)) for number in range(1, 5)))
    assert bandit.columns_fingerprint == "new"
    assert bandit.decision_ids == ("2", "3")
    assert bandit.states.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert report.counts == {"other_state_schema": 2}


def test_numbers_beyond_their_column_are_left_out() -> None:
    bandit, report = made(
        decision("1", state=[1e300, 0.0]),
        decision("2"),
        decision("3"),
        feedback("1"),
        feedback("2"),
        feedback("3", 1.7e308, "reward"),
        feedback("3", 1.7e308, "more"),
        composition=RewardComposition(cost_weight=0.0),
    )
    assert bandit.decision_ids == ("2", "3")
    assert report.counts == {"infinite": 1}


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([], "there is no decision in the records given"),
        ([feedback()], "there is no decision in"),
        (
            [{"schema": 7}],
            "there is no decision in the records given; the records given, number 1 has schema 7",
        ),
        (
            [decision("1"), decision("2", **GREEDY), decision("3", **GREEDY)],
            r"none of the 3 decisions in the records given can be used: "
            r"2 deterministic \(the most probable action, not drawn: serve with explore=True\), "
            r"1 no_feedback \(nothing came of them",
        ),
    ],
)
def test_a_log_of_no_use_says_why(records: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        made(*records)


def test_too_many_actions_are_no_policys() -> None:
    names = [f"action {number}" for number in range(MAX_ACTIONS)]
    probabilities = dict.fromkeys(names, 1 / MAX_ACTIONS)
    with pytest.raises(InputError, match="brings the actions to more than 1000"):
        made(decision("1", probabilities=probabilities, action=names[0]), feedback("1"))


def test_too_many_kinds_are_counted() -> None:
    events = [feedback("1", 1.0, f"kind {number}") for number in range(MAX_KINDS + 5)]
    bandit, report = made(decision("1"), *events)
    assert len(bandit.parts) == MAX_KINDS + 1
    assert report.feedback_counts == {"too_many_kinds": 5}


def test_rows_are_picked_together() -> None:
    names = [str(number) for number in range(4)]
    bandit, _ = made(
        *(decision(name, state=[float(name)]) for name in names),
        *(feedback(name, float(name)) for name in names),
    )
    for picked in (
        bandit.subset([3, 1]),
        bandit.subset(np.asarray([0, 1, 0, 1]) > 0).subset([1, 0]),
    ):
        assert picked.decision_ids == ("3", "1")
        assert picked.groups == ("3", "1")
        assert picked.states.tolist() == [[3.0], [1.0]]
        assert picked.rewards.tolist() == picked.parts["reward"].tolist() == [3.0, 1.0]
        assert picked.mask.shape == picked.probabilities.shape == (2, 3)
        assert picked.action_names == bandit.action_names
    assert len(bandit.subset([])) == 0


def test_every_form_of_a_log_is_the_same_dataset(tmp_path: Path) -> None:
    records = [decision(str(n), state=[n, 0.1]) for n in range(5)]
    records += [feedback(str(n), n / 10) for n in range(5)]
    expected, _ = made(*records)
    for name in ("log.jsonl", "log.jsonl.gz", "log.parquet"):
        write_records(records, tmp_path / name)
        found, _ = dataset(tmp_path / name)
        assert found.decision_ids == expected.decision_ids
        np.testing.assert_array_equal(found.states, expected.states)
        np.testing.assert_array_equal(found.probabilities, expected.probabilities)
        np.testing.assert_array_equal(found.rewards, expected.rewards)


@given(
    st.lists(
        st.lists(
            st.sampled_from(["keep", *DRAWN, "a", "b", "c"]), min_size=1, max_size=5, unique=True
        ),
        min_size=1,
        max_size=6,
    )
)
def test_distributions_come_back_whatever_their_actions(layouts: list[list[str]]) -> None:
    """Any mix of action sets, in any order."""
    records, expected = [], []
    for number, names in enumerate(layouts):
        shares = np.arange(1, len(names) + 1) / np.arange(1, len(names) + 1).sum()
        expected.append(dict(zip(names, shares.tolist(), strict=True)))
        records.append(decision(str(number), probabilities=expected[-1], action=names[0]))
        records.append(feedback(str(number)))
    bandit, _ = made(*records)
    for row, distribution in enumerate(expected):
        names = [bandit.action_names[place] for place in np.flatnonzero(bandit.mask[row])]
        assert set(names) == set(distribution)
        for place, name in enumerate(bandit.action_names):
            assert bandit.probabilities[row, place] == distribution.get(name, 0.0)
        assert bandit.action_names[bandit.actions[row]] == records[2 * row]["action"]


def test_a_decision_whose_feedback_is_off_its_scale_is_lost_and_not_given_the_default() -> None:
    records = [
        decision("1"),
        feedback("1", -1, "user_score"),
        decision("2"),
        feedback("2", 1, "user_score"),
        decision("3"),
    ]
    bandit, report = made(*records)
    assert bandit.decision_ids == ("2",)
    assert report.counts == {"no_feedback": 1, "off_scale": 1}
    assert (report.feedback_counts, report.off_scale) == ({"off_scale": 1}, {"user_score": 1})
    bandit, report = made(*records, expiry=Expiry(default=0.25))
    assert (bandit.decision_ids, bandit.rewards.tolist()) == (("2", "3"), [1.0, 0.25])


def test_most_decisions_without_feedback_are_warned_of() -> None:
    answered = [decision("1"), feedback("1"), decision("2")]
    assert made(*answered)[1].warnings == ()
    report = made(*answered, decision("3"))[1]
    assert report.warnings[0].startswith("2 of 3 decisions have no feedback and were left out")
    assert made(*answered, decision("3"), expiry=Expiry(default=0.0))[1].warnings == ()


def test_one_name_of_great_length_does_not_make_all_as_long() -> None:
    long = "s" * 4_000_000
    records = [decision(str(n), tags={"session_id": f"s{n // 2}"}) for n in range(600)]
    records.append(decision("long", tags={"session_id": long}))
    bandit, _ = made(*records, *(feedback(record["id"]) for record in records))
    numbers = bandit.group_numbers  # as text of one width: ten gigabytes
    assert numbers is not None
    assert int(numbers.max()) == 300
    assert numbers[0] == numbers[1] != numbers[2]
