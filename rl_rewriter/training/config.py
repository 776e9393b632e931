"""Settings of a fit, from the reward to the trainer; reading them needs no torch."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from rl_rewriter.errors import InputError
from rl_rewriter.rewards.reward import RewardConfig
from rl_rewriter.training.blend.config import BlendConfig
from rl_rewriter.training.kl_control import KlConfig
from rl_rewriter.training.ladder.config import LadderConfig

ReferenceName = Literal["keep", "best-fixed", "uniform"]


@dataclass(frozen=True, kw_only=True)
class ReinforceConfig:
    """Settings of the trainer.

    Attributes:
        updates: Gradient steps; an update is a batch of one-step episodes.
        batch_size: Queries a batch.
        samples: Actions drawn for each query of a batch; their mean without the one in question is
            its baseline (leave-one-out: Kool et al., 2019).
        learning_rate: Of Adam.
        warm_up: Updates over which the learning rate rises from 0.
        hidden: Sizes of the hidden layers.
        dropout: Share of state columns and hidden units left out at random in training.
        weight_decay: Shrinks what depends on the state toward nothing, so that the policy differs
            between queries only where that pays; the preference for actions as such isn't shrunk.
        entropy: Bonus a nat of entropy, in reward units.
        clip_norm: Largest norm of a gradient.
        kl: Weight of the KL term.
        evaluate_every: Updates between two looks at the validation queries.
        seed: Seed of weights, batches and drawn actions.
    """

    updates: int = 1500
    batch_size: int = 128
    samples: int = 8
    learning_rate: float = 0.003
    warm_up: int = 200
    hidden: tuple[int, ...] = (64,)
    dropout: float = 0.3
    weight_decay: float = 0.001
    entropy: float = 0.0
    clip_norm: float = 1.0
    kl: KlConfig = field(default_factory=KlConfig)
    evaluate_every: int = 50
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse settings that cannot work."""
        if min(self.updates, self.batch_size, self.evaluate_every) < 1 or self.samples < 2:
            raise InputError(
                "updates, batch_size and evaluate_every must be at least 1 and samples at least 2, "
                f"got {self.updates}, {self.batch_size}, {self.evaluate_every}, {self.samples}"
            )
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout must lie in [0, 1), got {self.dropout}")
        for name in ("learning_rate", "clip_norm"):
            if not 0 < getattr(self, name) < math.inf:
                raise InputError(f"{name} must be finite and > 0, got {getattr(self, name)}")
        for name in ("weight_decay", "entropy", "warm_up"):
            if not 0 <= getattr(self, name) < math.inf:
                raise InputError(f"{name} must be finite and >= 0, got {getattr(self, name)}")
        if any(size < 1 for size in self.hidden):
            raise InputError(f"hidden layers need at least one unit each, got {self.hidden}")

    @property
    def episodes(self) -> int:
        """One-step episodes in all."""
        return self.updates * self.batch_size * self.samples


@dataclass(frozen=True, kw_only=True)
class FitConfig:
    """Settings of a fit.

    Attributes:
        reinforce: Settings of the trainer.
        reward: Metric and prices.
        reference: What the policy is held close to: mostly keep, mostly the best single action of
            the training queries, or every action alike.
        reference_probability: Probability of that one action in the reference.
        validation_share: Part of the queries, by conversation or group, held out to choose by.
        embedding_components: Directions of the query embedding in the state; 0 for none.
        blend: How a blend of views is learned beside the choice of an action; None learns none.
        ladder: When something more complex than keep is taken, as clearly better on queries that it
            hasn't seen: the best single action, a blend, a choice by query; and how many queries it
            may hurt. With None a policy is trained by REINFORCE over single actions, however it
            fares, and no blend is learned; from logs one always is, beside the blend.
    """

    reinforce: ReinforceConfig = field(default_factory=ReinforceConfig)
    reward: RewardConfig = field(default_factory=RewardConfig)
    reference: ReferenceName = "keep"
    reference_probability: float = 0.9
    validation_share: float = 0.2
    embedding_components: int = 0
    blend: BlendConfig | None = field(default_factory=BlendConfig)
    ladder: LadderConfig | None = field(default_factory=LadderConfig)

    @property
    def learned_blend(self) -> BlendConfig | None:
        """How a blend is learned where the retriever can search any; None where none is tried."""
        return self.blend if self.ladder is not None else None

    def __post_init__(self) -> None:
        """Refuse settings that cannot work."""
        if not 0.0 < self.validation_share < 1.0:
            raise InputError(f"validation_share must lie in (0, 1), got {self.validation_share}")
        if not 0.5 < self.reference_probability <= 1.0:
            raise InputError(
                f"reference_probability must lie in (0.5, 1], got {self.reference_probability}"
            )
        if self.reference not in ("keep", "best-fixed", "uniform"):
            raise InputError(
                f'reference must be "keep", "best-fixed" or "uniform", got {self.reference!r}'
            )
