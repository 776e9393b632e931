"""A generated world in which the best action of every query is known."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rl_rewriter.actions.conversation import HistoryInFront
from rl_rewriter.actions.keep import Keep
from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.actions.words import Keywords, RarestTerms, TopicInFront
from rl_rewriter.envs.environment import JudgedEnvironment
from rl_rewriter.envs.simulator_config import Kind, SimulatorConfig
from rl_rewriter.envs.simulator_documents import CollectionWriter
from rl_rewriter.envs.simulator_queries import Asked, QueryWriter
from rl_rewriter.retrieval.tfidf import TfidfRetriever
from rl_rewriter.rewards.metrics import Metric
from rl_rewriter.rewards.reward import RewardConfig

ACTIONS = ActionSpace(
    (Keep(), Keywords(), RarestTerms(), TopicInFront(), HistoryInFront("last_user"))
)
BEST_ACTION: Mapping[str, str] = {
    "formal": Keep().name,
    "wordy": RarestTerms().name,
    "chatty": Keywords().name,
    "vague": TopicInFront().name,
    "follow_up": HistoryInFront("last_user").name,
}
_NGRAM_RANGE = (2, 4)
"""Of one- and two-letter pieces all made-up words have too many in common."""


def simulate(config: SimulatorConfig | None = None) -> JudgedEnvironment:
    """Generate a collection, and queries of five kinds with a best action each.

    - *formal* (keep): a topic's terms and the name of a plan made of stop words. The other actions
      lose the plan, or bring in what outweighs it.
    - *wordy* (the rarest terms): terms among words that documents of every topic share, which no
      list of stop words holds.
    - *chatty* (the keyword form): terms within small talk, which is rarer in the collection than
      they are, so that the rarest terms are the small talk.
    - *vague* (the topic's word in front): colloquial words, which lead to letters; the answer is in
      handbooks that share nothing with the query but the topic.
    - *follow_up* (the last user turn in front): the terms are in the turn before alone.

    All kinds but follow_up may come after a turn about another topic, and any query may hold a
    typo. Retrieval is TF-IDF over character n-grams, the metric hits@3, a rewrite costs 0.05.

    Args:
        config: Seed, sizes and shares; defaults where None.

    Returns:
        The world, with the kind of each query and the best action of each kind.

    Raises:
        InputError: More different queries are asked for than the topics give.
    """
    config = config or SimulatorConfig()
    seeds = np.random.SeedSequence(config.seed).spawn(2)
    documents_rng, queries_rng = (np.random.default_rng(seed) for seed in seeds)
    collection = CollectionWriter(documents_rng).write(config)
    writer = QueryWriter(collection, config, queries_rng)
    kinds = {
        **_draw_kinds("train", config.n_train, config, queries_rng),
        **_draw_kinds("test", config.n_test, config, queries_rng),
    }
    asked: list[Asked] = [writer.write(kind, id_) for id_, kind in kinds.items()]
    ids = tuple(kinds)
    return JudgedEnvironment(
        name=f"simulator:{config.seed}",
        retriever=TfidfRetriever(collection.documents, ngram_range=_NGRAM_RANGE),
        queries=tuple(item.query for item in asked),
        qrels={item.query.id: dict.fromkeys(item.relevant, 1.0) for item in asked},
        train_ids=ids[: config.n_train],
        test_ids=ids[config.n_train :],
        actions=ACTIONS,
        reward=RewardConfig(metric=Metric("hits", 3), rewrite_cost=0.05),
        kinds=kinds,
        best_action=BEST_ACTION,
    )


def _draw_kinds(
    split: str, n_queries: int, config: SimulatorConfig, rng: np.random.Generator
) -> dict[str, Kind]:
    """Query id -> kind, in random order, each split with the configured shares."""
    kinds = [kind for kind, count in config.counts(n_queries).items() for _ in range(count)]
    return {f"{split}-{i:04d}": kinds[row] for i, row in enumerate(rng.permutation(n_queries))}
