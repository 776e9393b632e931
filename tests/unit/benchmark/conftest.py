"""A policy trained on a small collection, and its evaluation, made once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from rl_rewriter.benchmark.comparison.compared import Compared
from rl_rewriter.benchmark.evaluate import evaluate_checkpoint
from rl_rewriter.benchmark.stores import StoreConfig
from rl_rewriter.benchmark.workbench import Workbench, open_workbench
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.rewriter import RLQueryRewriter
from rl_rewriter.training.config import FitConfig, ReinforceConfig
from tests.beir import shop

QUICK = ReinforceConfig(updates=40, evaluate_every=10, warm_up=5, learning_rate=0.01)


@dataclass(frozen=True, eq=False)
class Trained:
    """What evaluation starts from and what it found."""

    bench: Workbench
    checkpoint: Checkpoint
    evaluation: Compared


@pytest.fixture(scope="session")
def shop_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shop(tmp_path_factory.mktemp("data") / "shop")


@pytest.fixture(scope="session")
def trained(shop_folder: Path) -> Trained:
    bench = open_workbench(str(shop_folder), StoreConfig(embedder="tfidf"))
    rewriter = RLQueryRewriter(bench.retriever, actions=bench.actions)
    rewriter.fit(
        bench.train,
        bench.qrels,
        config=FitConfig(reinforce=QUICK, reward=bench.reward, ladder=None),
        groups=bench.groups_of(bench.train),
    )
    checkpoint = rewriter.checkpoint
    assert checkpoint is not None
    return Trained(bench, checkpoint, evaluate_checkpoint(bench, checkpoint))
