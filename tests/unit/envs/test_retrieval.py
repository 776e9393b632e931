"""Does the reward table hold what a search for each rewrite finds?"""

from __future__ import annotations

import numpy as np
import pytest

from rl_rewriter.actions.conversation import HistoryInFront
from rl_rewriter.actions.keep import Keep
from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.actions.words import Keywords
from rl_rewriter.envs import retrieval
from rl_rewriter.envs.outcomes import reward_table
from rl_rewriter.envs.table import RewardTable
from rl_rewriter.errors import InputError
from rl_rewriter.features.feature_set import default_features
from rl_rewriter.retrieval.tfidf import TfidfRetriever
from rl_rewriter.rewards.metrics import Metric
from rl_rewriter.rewards.reward import RewardConfig
from rl_rewriter.types import Query, Rewrite, Turn
from tests.support import DOCUMENTS

ACTIONS = ActionSpace((Keep(), Keywords(), HistoryInFront("last_user")))
REWARD = RewardConfig(metric=Metric("mrr", 5), rewrite_cost=0.1)
ABOUT_REPAIR = (Turn("user", "a repair under warranty"), Turn("assistant", "yes"))
QUERIES = [
    Query("and who is it for?", history=ABOUT_REPAIR, id="follow-up"),
    Query("and who is it for?", id="alone"),
    Query("could you please tell me about the voucher", id="chatty"),
    Query("customs form", history=(Turn("assistant", "hello"),), id="no user turn"),
]
QRELS = {
    "follow-up": {"repair": 1.0},
    "alone": {"repair": 1.0},
    "chatty": {"voucher": 1.0},
    "no user turn": {"abroad": 1.0},
}


def make(queries: list[Query]) -> RewardTable:
    retriever = TfidfRetriever(DOCUMENTS, ngram_range=(2, 4))
    features = default_features(retriever.offers)
    outcomes = retrieval.carry_out(
        queries, retriever, retriever.statistics(), ACTIONS, features, depth=5
    )
    return reward_table(outcomes, QRELS, features, REWARD)


@pytest.fixture(scope="module")
def made() -> RewardTable:
    return make(QUERIES)


def test_shapes_and_names(made: RewardTable) -> None:
    assert made.query_ids == tuple(QRELS)
    assert made.action_names == ACTIONS.names
    assert made.mask.shape == made.values.shape == made.rewards.shape == (4, 3)
    assert made.states.dtype == np.float32
    assert made.states.shape[0] == 4
    assert np.isfinite(made.states).all()
    assert np.isfinite(made.values).all()


def test_values_are_those_of_a_search_by_hand(made: RewardTable) -> None:
    retriever = TfidfRetriever(DOCUMENTS, ngram_range=(2, 4))
    texts = {
        (0, 0): "and who is it for?",
        (0, 1): "and who is it for?",
        (0, 2): "a repair under warranty and who is it for?",
        (2, 1): "voucher",
    }
    for (row, column), text in texts.items():
        found = retriever.search([Rewrite((text,))], k=5)[0]
        wanted = next(iter(QRELS[made.query_ids[row]]))
        rank = found.ids.index(wanted) if wanted in found.ids else None
        assert made.values[row, column] == (0.0 if rank is None else 1.0 / (rank + 1))


def test_without_history_the_history_action_is_masked_and_worth_keep(made: RewardTable) -> None:
    assert made.mask[:, 2].tolist() == [True, False, False, True]
    assert made.values[1, 2] == made.values[1, 0]
    assert made.values[0, 2] > made.values[0, 0]


def test_an_action_with_nothing_to_work_with_is_worth_keep(made: RewardTable) -> None:
    assert made.values[3, 2] == made.values[3, 0]


def test_rewards_are_gains_minus_the_price(made: RewardTable) -> None:
    gains = made.values - made.values[:, :1]
    priced, unpriced = np.isclose(made.rewards, gains - 0.1), made.rewards == 0
    assert (priced | unpriced).all()
    assert priced[:, 1:].any()
    assert (gains[unpriced] == 0).all()  # what comes to nothing is as good as keep
    assert (made.rewards[:, 0] == 0).all()


def test_chunks_do_not_show(made: RewardTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrieval, "CHUNK", 3)
    again = make(QUERIES)
    assert np.array_equal(again.values, made.values)
    assert np.array_equal(again.mask, made.mask)


def test_only_judged_queries_are_kept() -> None:
    qrels = {"alone": {"repair": 1.0}, "chatty": {"voucher": 0.0}}
    assert [query.id for query in retrieval.judged(QUERIES, qrels)] == ["alone"]
    with pytest.raises(InputError, match="none of the 4 queries"):
        retrieval.judged(QUERIES, {})
