"""What actions are drawn from is a distribution, whatever is asked for, and the log tells it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rl_rewriter.errors import InputError
from rl_rewriter.policies.decider import Decider
from rl_rewriter.policies.exploration import EVENLY, THE_POLICY, Exploration
from rl_rewriter.policies.starting import starting_checkpoint
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.rewriter import RLQueryRewriter
from rl_rewriter.types import Query
from tests.support import DOCUMENTS, QUERIES, fixed_checkpoint

NAMES = ("keep", "a", "b", "masked")
POLICY = np.asarray([[0.2, 0.5, 0.3, 0.0]])


@pytest.mark.parametrize(
    ("exploration", "expected"),
    [
        (THE_POLICY, [0.2, 0.5, 0.3, 0.0]),
        (EVENLY, [1 / 3, 1 / 3, 1 / 3, 0.0]),
        (Exploration(around="keep", epsilon=0.3), [0.8, 0.1, 0.1, 0.0]),
        (Exploration(around="greedy", epsilon=0.3), [0.1, 0.8, 0.1, 0.0]),
        (Exploration(around="greedy"), [0.0, 1.0, 0.0, 0.0]),
        (Exploration(temperature=0.5), [0.04 / 0.38, 0.25 / 0.38, 0.09 / 0.38, 0.0]),
        (Exploration(caps={"a": 0.1}), [0.6, 0.1, 0.3, 0.0]),
        (Exploration(caps={"a": 0.0, "b": 0.0}), [1.0, 0.0, 0.0, 0.0]),
        (Exploration(caps={"b": 0.9}), [0.2, 0.5, 0.3, 0.0]),
    ],
)
def test_by_hand(exploration: Exploration, expected: list[float]) -> None:
    assert exploration.of(POLICY, NAMES)[0] == pytest.approx(expected)
    assert POLICY.tolist() == [[0.2, 0.5, 0.3, 0.0]]  # the policy's own isn't touched


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.floats(0.0, 1.0), min_size=4, max_size=4).filter(lambda row: sum(row) > 0.01),
    st.sampled_from(["policy", "greedy", "keep"]),
    st.floats(0.0, 1.0),
    st.floats(0.05, 20.0),
    st.dictionaries(st.sampled_from(["a", "b", "masked"]), st.floats(0.0, 1.0)),
)
def test_it_is_always_a_distribution_over_what_is_possible(
    weights: list[float], around: Any, epsilon: float, temperature: float, caps: dict[str, float]
) -> None:
    policy = np.asarray([weights]) / sum(weights)
    exploration = Exploration(around=around, epsilon=epsilon, temperature=temperature, caps=caps)
    drawn = exploration.of(policy, NAMES)[0]
    assert drawn.sum() == pytest.approx(1.0)
    assert (drawn >= 0).all()
    impossible = (policy[0] == 0) & (np.arange(4) > 0)
    assert (drawn[impossible] == 0).all()
    for name, cap in caps.items():
        assert drawn[NAMES.index(name)] <= cap + 1e-9


@pytest.mark.parametrize(
    "wrong",
    [
        {"around": "best"},
        {"epsilon": 1.1},
        {"epsilon": float("nan")},
        {"temperature": 0.0},
        {"caps": {"a": -0.1}},
        {"caps": {"keep": 0.5}},
    ],
)
def test_what_makes_no_distribution_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        Exploration(**wrong)


def test_the_log_holds_the_probabilities_that_were_drawn_from() -> None:
    retriever = Bm25Retriever(DOCUMENTS)
    decider = Decider(fixed_checkpoint(retriever, "keywords"))
    exploration = Exploration(around="keep", epsilon=0.8, caps={"keywords": 0.05})
    rng = np.random.default_rng(0)
    counts: Counter[str] = Counter()
    for _ in range(1500):
        decision = decider.plan(
            Query(QUERIES[0]), retriever, rng=rng, exploration=exploration
        ).decision
        assert decision.propensity == decision.probabilities[decision.action]
        assert sum(decision.probabilities.values()) == pytest.approx(1.0)
        assert decision.reason == "explored"
        counts[decision.action] += 1
    assert decision.probabilities["keywords"] == pytest.approx(0.05)
    assert decision.preferences["keywords"] > 0.5  # the policy's own opinion stays apart
    expected = [1500 * p for p in decision.probabilities.values()]
    found = [counts[name] for name in decision.probabilities]
    assert stats.chisquare(found, expected).pvalue > 0.001


def test_exploration_can_be_switched_off_while_it_runs() -> None:
    retriever = Bm25Retriever(DOCUMENTS)
    checkpoint = fixed_checkpoint(retriever, "keywords")
    rewriter = RLQueryRewriter(retriever, checkpoint=checkpoint, exploration=EVENLY, seed=1)
    drawn = {rewriter.decide(QUERIES[0], explore=True).action for _ in range(60)}
    assert len(drawn) > 2
    rewriter.exploration = None
    decisions = [rewriter.decide(QUERIES[0], explore=True) for _ in range(20)]
    assert {(d.action, d.propensity, d.reason) for d in decisions} == {("keywords", 1.0, "policy")}


def test_an_untrained_rewriter_can_collect_a_first_log() -> None:
    rewriter = RLQueryRewriter(Bm25Retriever(DOCUMENTS), seed=2)
    rewriter.explore_untrained(keep=0.6)
    served = rewriter.decide(QUERIES[0])
    assert (served.action, served.propensity, served.reason) == ("keep", 1.0, "policy")
    drawn = [rewriter.decide(QUERIES[0], explore=True) for _ in range(80)]
    assert len({decision.action for decision in drawn}) > 2
    others = [p for name, p in drawn[0].probabilities.items() if name != "keep"]
    assert others == pytest.approx([others[0]] * len(others))


def test_what_is_logged_is_what_was_seen_before_standardising() -> None:
    retriever = Bm25Retriever(DOCUMENTS)
    checkpoint = fixed_checkpoint(retriever, "keywords")
    plan = Decider(checkpoint).plan(Query(QUERIES[0]), retriever)
    assert plan.evidence is not None
    raw = checkpoint.features.raw([plan.evidence])
    assert plan.decision.state == pytest.approx(raw[0].tolist())
    assert plan.decision.state != pytest.approx(checkpoint.features.standardised(raw)[0].tolist())


def test_without_a_retriever_nothing_can_be_explored() -> None:
    with pytest.raises(InputError, match="no retriever"):
        RLQueryRewriter().explore_untrained()


def test_a_starting_policy_says_that_nothing_was_learned() -> None:
    checkpoint = starting_checkpoint(Bm25Retriever(DOCUMENTS))
    assert checkpoint.training == {"algorithm": "none"}
    assert checkpoint.policy.n_actions == len(checkpoint.actions)


@given(st.floats(1e-6, 1.0), st.lists(st.floats(1e-300, 1.0), min_size=2, max_size=6))
def test_a_low_temperature_makes_a_distribution_all_the_same(
    temperature: float, weights: list[float]
) -> None:
    policy = np.asarray([weights]) / sum(weights)
    drawn = Exploration(temperature=temperature).of(policy, [str(n) for n in range(len(weights))])
    assert drawn.sum() == pytest.approx(1.0)
    assert drawn[0, policy[0].argmax()] == drawn.max()


def test_a_very_low_temperature_takes_the_most_probable_action() -> None:
    drawn = Exploration(temperature=1e-4).of(np.asarray([[0.3, 0.4, 0.3]]), ["keep", "a", "b"])
    assert drawn.tolist() == [[0.0, 1.0, 0.0]]
