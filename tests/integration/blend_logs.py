"""Small worlds over Chroma in which a blend pays, served by a rewriter that logs and explores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rl_rewriter import RLQueryRewriter
from rl_rewriter.actions.conversation import BringIn, HistoryInFront
from rl_rewriter.actions.feedback import FuseWithBm25
from rl_rewriter.actions.keep import Keep
from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.actions.words import Keywords
from rl_rewriter.envs.retrieval import carry_out
from rl_rewriter.logs.store import DecisionLog
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.retrieval.protocols import Retriever
from rl_rewriter.rewards.metrics import Metric
from rl_rewriter.training.config import FitConfig, ReinforceConfig
from rl_rewriter.training.offline import OfflineConfig
from rl_rewriter.types import Qrels, Query, Turn
from tests.support import TokenEmbedder, chroma_collection
from tests.unit.training.blend.parts import LADDER, SAME_FOR_ALL

METRIC = Metric("ndcg", 10)
N = 150
WORDS = ActionSpace((Keep(), Keywords(), FuseWithBm25(0.1), FuseWithBm25(0.2)))
TALK = ActionSpace(
    (
        Keep(),
        BringIn("first_last", 0.5),
        HistoryInFront("first_last"),
        HistoryInFront("first_last", fusion=0.2),
    )
)
QUICK = OfflineConfig(
    fit=FitConfig(
        reinforce=ReinforceConfig(updates=150, evaluate_every=50, warm_up=1, learning_rate=0.02),
        ladder=LADDER,
        blend=SAME_FOR_ALL,
    )
)


@dataclass(frozen=True, eq=False)
class Shop:
    """Documents, questions that are asked while serving, and others to judge by.

    Attributes:
        retriever: Searches the documents.
        served: Asked and logged.
        unseen: About the same documents, in other words, with ids.
        qrels: Judgements of both, by id.
        actions: What is explored.
    """

    retriever: Retriever
    served: list[Query]
    unseen: list[Query]
    qrels: Qrels
    actions: ActionSpace


@dataclass(frozen=True, eq=False)
class Corpus:
    """Documents by id, questions about them in two ways, and judgements of both."""

    documents: dict[str, str]
    served: list[Query]
    unseen: list[Query]
    qrels: dict[str, dict[str, float]]


def corpus(n: int = N, *, in_talk: bool = False, n_words: int = 6, n_others: int = 10) -> Corpus:
    """Documents of words of their own and of others', and questions by two words of their own.

    Args:
        n: Documents, and questions of either kind.
        in_talk: Whether the words that tell the document were said a turn before.
        n_words: Words that each document alone is about.
        n_others: Words of other documents in each.
    """
    rng = np.random.default_rng(0)
    documents: dict[str, str] = {}
    qrels: dict[str, dict[str, float]] = {}
    served: list[Query] = []
    unseen: list[Query] = []
    for number in range(n):
        own = [f"w{number}x{part}" for part in range(n_words)]
        others = [f"w{rng.integers(n)}x{rng.integers(n_words)}" for _ in range(n_others)]
        documents[f"d{number:03}"] = " ".join([*own, *others])
        for kind, (one, two) in {"served": own[:2], "unseen": own[2:4]}.items():
            query = Query(f"{one} {two} what about the other", id=f"{kind}-{number}")
            if in_talk:
                said = (Turn("user", f"{one} {two}"), Turn("assistant", "anything else?"))
                query = Query(f"and what of n{number} {kind}", said, id=query.id)
            (served if kind == "served" else unseen).append(query)
            qrels[query.id] = {f"d{number:03}": 1.0}
    return Corpus(documents, served, unseen, qrels)


def shop(folder: Path, *, in_talk: bool = False) -> Shop:
    """Few directions for many words: vectors alone find little, words find all.

    Args:
        folder: For the BM25 index.
        in_talk: As for :func:`corpus`.
    """
    embedder, told = TokenEmbedder(6), corpus(in_talk=in_talk)
    retriever = chroma_retriever(
        chroma_collection(told.documents, embedder), embedder, cache_dir=folder / "bm25"
    )
    return Shop(retriever, told.served, told.unseen, told.qrels, TALK if in_talk else WORDS)


def serve(
    world: Shop, log: DecisionLog | Path, *, rounds: int = 2, checkpoint: Checkpoint | None = None
) -> RLQueryRewriter:
    """Ask every question some times, explore, record what came back and what it was worth."""
    rewriter = RLQueryRewriter(
        world.retriever, actions=world.actions, log=log, seed=0, checkpoint=checkpoint
    )
    if checkpoint is None:
        rewriter.explore_untrained(keep=0.3)
    for number in range(rounds):
        for query in world.served:
            decision = rewriter.decide(query, explore=True, session=f"{query.id}-{number}")
            [found] = world.retriever.search([decision.rewrite], k=METRIC.depth)
            assert rewriter.record(decision, found)
            rewriter.feedback(decision.id, METRIC(found.ids, world.qrels[query.id]))
    return rewriter


def value(world: Shop, checkpoint: Checkpoint) -> tuple[float, float]:
    """Mean metric of keep and of what a policy serves, on judged questions that nobody logged."""
    found = carry_out(
        world.unseen,
        world.retriever,
        checkpoint.statistics,
        checkpoint.actions,
        checkpoint.features,
        depth=METRIC.depth,
    )
    values = METRIC.values(found.judged(world.qrels))
    states = checkpoint.features.standardised(found.features)
    chosen = checkpoint.policy.distribution(states, found.mask).greedy()
    return float(values[:, 0].mean()), float(values[np.arange(len(values)), chosen].mean())


def settings(**changes: Any) -> OfflineConfig:
    """The quick settings with some of the fit's own changed."""
    return replace(QUICK, fit=replace(QUICK.fit, **changes))
