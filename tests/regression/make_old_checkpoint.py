"""Writes checkpoints that later versions must still load, and what they decided.

Run it once for each new checkpoint schema or number of views, from the root: ``python -m
tests.regression.make_old_checkpoint``. A folder that is there already is never written again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from rl_rewriter.actions.blend import LearnedBlend
from rl_rewriter.actions.blend_head import BlendHead, TanhNetwork
from rl_rewriter.actions.views import VIEWS
from rl_rewriter.features.feature_set import default_features
from rl_rewriter.policies.checkpoint import SCHEMA, Checkpoint, save_checkpoint
from rl_rewriter.policies.decider import Decider
from rl_rewriter.policies.mlp import Layer, MlpPolicy
from rl_rewriter.retrieval.evidence import gather
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.retrieval.protocols import Retriever
from rl_rewriter.text.statistics import CollectionStatistics, Topic
from rl_rewriter.types import Matrix, Needs, Query, RewriteDecision, Turn
from tests.support import (
    CHINESE_DOCUMENTS,
    DOCUMENTS,
    QUERIES,
    TokenEmbedder,
    chroma_collection,
    fixed_checkpoint,
)

DATA = Path(__file__).parent / "data"
HISTORY = (Turn("user", "how long does delivery take?"), Turn("assistant", "two days"))
ASKED = (
    *(Query(text) for text in (*QUERIES, "请问如何退款？", "refund", "发票")),
    Query("and abroad?", HISTORY),
    Query("那国外呢？", HISTORY),
)


def small_world(cache_dir: Path) -> Retriever:
    """The collection that the decisions were made against."""
    documents = {**DOCUMENTS, **CHINESE_DOCUMENTS}
    return chroma_retriever(chroma_collection(documents), TokenEmbedder(), cache_dir=cache_dir)


def summary(decision: RewriteDecision) -> dict[str, object]:
    """What has to stay the same."""
    vector = decision.rewrite.vector
    return {
        "action": decision.action,
        "preferences": {name: round(p, 6) for name, p in decision.preferences.items()},
        "texts": list(decision.rewrite.texts),
        "weights": list(decision.rewrite.weights),
        "lexical_weight": round(decision.rewrite.lexical_weight, 6),
        "lexical_texts": list(decision.rewrite.lexical_texts),
        "lexical_shares": [round(share, 6) for share in decision.rewrite.lexical_shares],
        "vector": None if vector is None else [round(float(x), 6) for x in vector],
        "policy_version": decision.policy_version,
    }


def varied_checkpoint(retriever: Retriever) -> Checkpoint:
    """Two layers of random weights over all feature groups: other queries, other actions."""
    documents = [*DOCUMENTS.values(), *CHINESE_DOCUMENTS.values()]
    topics = (Topic("order", {"card": 1.0, "account": 0.5}), Topic("退款", {"如何": 1.0}))
    statistics = CollectionStatistics.from_texts(documents, topics)
    fixed = fixed_checkpoint(retriever, "keep", texts=documents)
    evidence = gather(ASKED, retriever, statistics, ~Needs.NOTHING)
    features = default_features(retriever.offers, evidence, embedding_components=4)
    rng = np.random.default_rng(7)
    sizes = [len(features.columns), 6, len(fixed.actions)]
    layers = tuple(
        Layer(
            rng.normal(size=(n_out, n_in)).astype(np.float32),
            rng.normal(size=n_out).astype(np.float32),
        )
        for n_in, n_out in pairwise(sizes)
    )
    return replace(
        fixed,
        policy=MlpPolicy(layers),
        features=features.fitted(evidence),
        statistics=statistics,
        training={"algorithm": "none", "note": "random weights, for the regression test"},
    )


def blended_checkpoint(retriever: Retriever) -> Checkpoint:
    """The same with a blend of all views, by a network of random weights, that is often taken."""
    varied = varied_checkpoint(retriever)
    names, n_columns = [view.name for view in VIEWS], len(varied.features.columns)
    rng = np.random.default_rng(8)

    def normal(*shape: int) -> Matrix:
        return rng.normal(size=shape).astype(np.float32)

    head = BlendHead(
        tuple(names),
        bias=normal(len(names)),
        scale=np.linspace(0.5, 2.0, len(names), dtype=np.float32),
        mean=np.zeros(n_columns, dtype=np.float32),
        spread=np.ones(n_columns, dtype=np.float32),
        networks=(TanhNetwork(normal(4, n_columns), normal(4), normal(len(names), 4)),),
    )
    layers = varied.policy.layers
    last = Layer(
        np.concatenate([layers[-1].weight, normal(1, layers[-1].weight.shape[1])]),
        np.append(layers[-1].bias, np.float32(4.0)),
    )
    return replace(
        varied,
        policy=MlpPolicy((*layers[:-1], last)),
        actions=varied.actions.extended([LearnedBlend(head)]),
    )


def main() -> None:
    """Write what isn't there yet of the present schema and views."""
    for name, made in (
        (f"schema-{SCHEMA}", varied_checkpoint),
        (f"schema-{SCHEMA}-{len(VIEWS)}-views", blended_checkpoint),
    ):
        if not (DATA / name).exists():
            write(DATA / name, made)


def write(target: Path, made: Callable[[Retriever], Checkpoint]) -> None:
    """Write one checkpoint and its decisions."""
    with TemporaryDirectory() as cache_dir:
        retriever = small_world(Path(cache_dir))
        checkpoint = made(retriever)
        decider = Decider(checkpoint)
        decisions = [summary(decider.plan(query, retriever).decision) for query in ASKED]
    save_checkpoint(checkpoint, target / "policy")
    content = json.dumps(decisions, ensure_ascii=False, indent=1)
    (target / "decisions.json").write_text(content + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
