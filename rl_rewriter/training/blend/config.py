"""Settings of learning a blend; reading them needs no torch."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from rl_rewriter.errors import InputError
from rl_rewriter.rewards.metrics import Metric
from rl_rewriter.training.ranges import at_least, positive


@dataclass(frozen=True, kw_only=True)
class PoolConfig:
    """Which documents a blend is trained to order.

    Attributes:
        candidates: Best documents of each view that become candidates.
        query_candidates: The same for the query itself.
        lexical_depth: Documents of a BM25 ranking whose scores are known.
        text_depth: Documents of a text search whose scores are known, where there are no vectors.
        size: Candidates of a query that are left: the best ones by their best view.
        chunk: Queries that are searched at once.
        cache_bytes: Document vectors that are held for later queries, in bytes.
    """

    candidates: int = 60
    query_candidates: int = 100
    lexical_depth: int = 500
    text_depth: int = 200
    size: int = 250
    chunk: int = 64
    cache_bytes: int = 512 * 2**20

    def __post_init__(self) -> None:
        """Refuse settings that cannot work."""
        at_least(self, 1, *asdict(self))


@dataclass(frozen=True, kw_only=True)
class ListwiseConfig:
    """How the weights that are the same for all queries are fitted.

    Attributes:
        steps: Gradient steps on all queries.
        batch_size: Queries a step.
        learning_rate: Of Adam, at the start; it falls to 0.
        query_logit: Logit of the query's own view to start from, where no prior is given; the
            others start at 0.
        temperature: Logarithm of what scores are multiplied by before the softmax, to start from.
        prior_queries: How many queries a prior counts for beyond being where learning starts; 20 of
            them were worse than none (docs/experiments.md).
        min_queries: With fewer queries, those of a prior counted in, no weights are fitted.
    """

    steps: int = 200
    batch_size: int = 256
    learning_rate: float = 0.04
    query_logit: float = 1.0
    temperature: float = 2.5
    prior_queries: float = 0.0
    min_queries: int = 25

    def __post_init__(self) -> None:
        """Refuse settings that cannot work."""
        at_least(self, 1, "steps", "batch_size")
        positive(self, "learning_rate")
        at_least(self, 0, "prior_queries", "min_queries")


@dataclass(frozen=True, kw_only=True)
class ByQueryConfig:
    """How weights that differ by query are fitted.

    Attributes:
        pulls: Weights of the pull toward the weights that are the same for all, to choose from.
        hidden: Tanh units of a network.
        members: Networks whose weights are averaged.
        dropout: Share of state columns left out at random in training.
        steps: Gradient steps of each network.
        batch_size: Queries a step.
        learning_rate: Of Adam, at the start; it falls to 0.
        min_queries: With fewer queries, no weights by query are tried.
    """

    pulls: tuple[float, ...] = (0.1, 0.3, 1.0)
    hidden: int = 16
    members: int = 3
    dropout: float = 0.2
    steps: int = 150
    batch_size: int = 128
    learning_rate: float = 0.01
    min_queries: int = 150

    def __post_init__(self) -> None:
        """Refuse settings that cannot work."""
        at_least(self, 1, "hidden", "members", "steps", "batch_size")
        at_least(self, 0, "min_queries")
        positive(self, "learning_rate")
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout must lie in [0, 1), got {self.dropout}")
        if any(not 0 <= pull < math.inf for pull in self.pulls):
            raise InputError(f"pulls must be finite and >= 0, got {self.pulls}")


@dataclass(frozen=True, kw_only=True)
class FineTuneConfig:
    """How weights are tuned on the metric itself, by REINFORCE.

    Attributes:
        steps: Gradient steps; 0 leaves it out.
        batch_size: Queries a step.
        samples: Weights drawn for each query of a batch.
        learning_rate: Of Adam, for the weights that are the same for all.
        network_rate: Of Adam, for networks.
        sigma: Standard deviation of the Gaussian over logits.
        beta: Weight of the KL term, a nat.
    """

    steps: int = 120
    batch_size: int = 128
    samples: int = 8
    learning_rate: float = 0.02
    network_rate: float = 0.003
    sigma: float = 0.4
    beta: float = 0.01

    def __post_init__(self) -> None:
        """Refuse settings that cannot work."""
        at_least(self, 0, "steps", "beta")
        at_least(self, 1, "batch_size")
        at_least(self, 2, "samples")
        positive(self, "learning_rate", "network_rate", "sigma")


@dataclass(frozen=True, kw_only=True)
class BlendConfig:
    """Settings of learning a blend.

    Attributes:
        metric: What is improved.
        pools: Documents to train on.
        listwise: The weights that are the same for all.
        by_query: Weights by query.
        fine_tune: Tuning on the metric.
        price: What serving a blend costs beyond the prices of the reward, in units of the metric.
        prior: Where weights start from: "shipped" with this package, learned on other collections,
            or None for mostly the query; which was neither better nor worse (docs/experiments.md).
        texts: Whether blends are learned too where only texts can be searched, not vectors. There
            they weren't better than a choice among single actions (docs/experiments.md).
        seed: Seed of folds, initial weights, batches and draws.
    """

    metric: Metric = field(default_factory=lambda: Metric("ndcg", 10))
    pools: PoolConfig = field(default_factory=PoolConfig)
    listwise: ListwiseConfig = field(default_factory=ListwiseConfig)
    by_query: ByQueryConfig = field(default_factory=ByQueryConfig)
    fine_tune: FineTuneConfig = field(default_factory=FineTuneConfig)
    price: float = 0.0
    prior: Literal["shipped"] | None = None
    texts: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse settings that cannot work."""
        at_least(self, 0, "price")
        if self.prior not in ("shipped", None):
            raise InputError(f'prior must be "shipped" or None, got {self.prior!r}')

    def to_json(self) -> dict[str, Any]:
        """Settings for a manifest."""
        return {**asdict(self), "metric": self.metric.name}
