"""Searches, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from rl_rewriter.actions.feedback import ExpandWithTerms, FuseWithBm25, MoveTowardDocuments
from rl_rewriter.actions.keep import Keep
from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.benchmark.comparison.effort import efforts_of
from rl_rewriter.envs.outcomes import Outcomes
from rl_rewriter.rewards.reward import RewardConfig
from rl_rewriter.types import Needs, Query

ACTIONS = ActionSpace(
    (Keep(), ExpandWithTerms(), FuseWithBm25(0.4), MoveTowardDocuments("bm25", 1, 0.2))
)
EFFORT = [
    [[0, 0, 0, 0], [1, 1, 1, 0], [1, 2, 0, 0], [1, 1, 0, 0]],
    [[0, 0, 0, 0], [0, 0, 0, 2], [1, 2, 0, 0], [0, 0, 0, 0]],
]
"""Of the second query nothing is expanded, after two calls; its BM25 move is impossible."""
OUTCOMES = Outcomes(
    queries=(Query("a", id="a"), Query("b", id="b")),
    action_names=ACTIONS.names,
    columns=(),
    features=np.zeros((2, 0), np.float32),
    mask=np.array([[True] * 4, [True, True, True, False]]),
    applied=np.array([[True] * 4, [True, False, True, False]]),
    documents=("d",),
    ranked=np.zeros((2, 4, 1), np.int32),
    effort=np.array(EFFORT, dtype=np.int16),
)


def test_an_action_alone_looks_at_what_it_needs() -> None:
    """Keep searches once; expansion looks first; fusion and the move look into BM25 first."""
    found = efforts_of(OUTCOMES, ACTIONS, RewardConfig())
    assert found.searches.tolist() == [[1, 2, 3, 2], [1, 1, 3, 1]]


def test_a_policy_looks_before_every_action() -> None:
    """A kept query is served from the first ranking that was looked at."""
    looked_at = Needs.FIRST_RANKING | Needs.LEXICAL
    found = efforts_of(OUTCOMES, ACTIONS, RewardConfig(), looked_at)
    assert found.searches.tolist() == [[2, 3, 4, 3], [2, 2, 4, 2]]


def test_embeddings_calls_and_prices() -> None:
    reward = RewardConfig(search_cost=0.01, embedding_cost=0.1, llm_call_cost=1.0)
    found = efforts_of(OUTCOMES, ACTIONS, reward)
    assert found.embedded.tolist() == [[0, 1, 0, 0], [0, 0, 0, 0]]
    assert found.llm_calls.tolist() == [[0, 0, 0, 0], [0, 2, 0, 0]]
    assert found.cost[0].tolist() == pytest.approx([0.0, 0.11, 0.02, 0.01])
    assert found.cost[1].tolist() == pytest.approx([0.0, 2.0, 0.02, 0.0])
