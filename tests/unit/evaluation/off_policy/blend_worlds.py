"""Policies with a learned blend, and logs of them in a world where rewards follow the weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rl_rewriter.actions.blend import LearnedBlend
from rl_rewriter.actions.blend_head import BlendHead, TanhNetwork
from rl_rewriter.actions.blend_logits import Logits, weights_of
from rl_rewriter.actions.keep import Keep
from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.features.feature_set import FeatureSet
from rl_rewriter.logs.bandit import LoggedBandit
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.policies.gaussian import GaussianLogits, centre_of
from rl_rewriter.policies.mlp import Layer, MlpPolicy
from rl_rewriter.types import Matrix
from tests.unit.evaluation.off_policy.logs import FEATURES, N_COLUMNS, policy_that_likes

Values = npt.NDArray[np.float64]
VIEWS = ("query", "first_3", "bm25_3", "words")
NAMES = ("keep", "blend")
KEEP_EARNS = 0.3


def blend_policy(
    *weights: float, by_state: float = 0.0, views: tuple[str, ...] = VIEWS, likes: float = 9.0
) -> Checkpoint:
    """Takes a blend of given weights, shifted by the first column where ``by_state`` isn't 0."""
    zeros = np.zeros(N_COLUMNS, dtype=np.float32)
    inner = np.zeros((1, N_COLUMNS), dtype=np.float32)
    inner[0, 0] = 1.0
    outer = np.zeros((len(views), 1), dtype=np.float32)
    outer[1], outer[0] = by_state, -by_state
    head = BlendHead(
        views,
        bias=np.log(np.asarray(weights, dtype=np.float32)),
        scale=np.ones(len(views), dtype=np.float32),
        mean=zeros,
        spread=np.ones(N_COLUMNS, dtype=np.float32),
        networks=(TanhNetwork(inner, np.zeros(1, dtype=np.float32), outer),),
    )
    bias = np.asarray([0.0, likes], dtype=np.float32)
    policy = MlpPolicy((Layer(np.zeros((2, N_COLUMNS), dtype=np.float32), bias),))
    features = FeatureSet(FEATURES.extractors, zeros, np.ones(N_COLUMNS, dtype=np.float32))
    actions = ActionSpace((Keep(), LearnedBlend(head)))
    return Checkpoint(policy, actions, features, policy_that_likes(1).statistics)


@dataclass(frozen=True)
class BlendWorld:
    """Queries of which some have all views and some lack one; rewards are smooth in the weights.

    Attributes:
        sigma: Standard deviation of the logits.
        share: Probability of the blend; keep has the rest.
    """

    sigma: float = 0.5
    share: float = 0.7

    def expected(self, states: Matrix, logits: Logits) -> Values:
        """Chance of a reward of 1, ``(n,)``: most where the second view weighs what it should."""
        weights = weights_of(logits)
        best = 0.5 + 0.2 * np.tanh(states[:, 0])
        return np.asarray(0.9 * np.exp(-8.0 * (weights[:, 1] - best) ** 2))

    def states(self, n: int, rng: np.random.Generator) -> tuple[Matrix, npt.NDArray[np.bool_]]:
        """States ``(n, s)`` and which views there are, ``(n, v)``."""
        present = np.ones((n, len(VIEWS)), dtype=np.bool_)
        present[:, 3] = rng.random(n) < 0.7
        return rng.normal(size=(n, N_COLUMNS)).astype(np.float32), present

    def distribution(
        self, policy: Checkpoint, states: Matrix, present: npt.NDArray[np.bool_]
    ) -> GaussianLogits:
        """What a policy's weights are drawn from."""
        centre = centre_of(policy.blends[0].head, states, present)
        return GaussianLogits(centre, np.full(len(states), self.sigma))

    def value(self, policy: Checkpoint, n: int = 400_000) -> float:
        """True value of the Gaussian around a policy's blend, to a thousandth."""
        rng = np.random.default_rng(99)
        states, present = self.states(n, rng)
        drawn = self.distribution(policy, states, present).sample(rng)
        return float(self.expected(states, drawn).mean())

    def log(
        self, policy: Checkpoint, n: int, *, seed: int = 0, draws: bool = True, **changed: Any
    ) -> LoggedBandit:
        """``n`` decisions; without ``draws`` the blend's weights are served as they are."""
        rng = np.random.default_rng(seed)
        states, present = self.states(n, rng)
        distribution = self.distribution(policy, states, present)
        logits = distribution.sample(rng) if draws else distribution.greedy()
        taken = rng.random(n) < self.share
        chance = np.where(taken, self.expected(states, logits), KEEP_EARNS)
        is_drawn = taken & draws
        probabilities = np.tile([1.0 - self.share, self.share], (n, 1))
        arrays: dict[str, Any] = {
            "decision_ids": tuple(f"d{row}" for row in range(n)),
            "action_names": NAMES,
            "columns_fingerprint": FEATURES.fingerprint,
            "states": states,
            "actions": taken.astype(np.intp),
            "propensities": np.where(taken, self.share, 1.0 - self.share),
            "probabilities": probabilities,
            "mask": np.ones((n, 2), dtype=np.bool_),
            "rewards": (rng.random(n) < chance).astype(np.float64),
            "groups": tuple(f"d{row}" for row in range(n)),
            "times": np.arange(n, dtype=np.float64),
            "policy_versions": (policy.version,) * n,
            "blends": (policy.blend_versions,) * n,
            "views": VIEWS,
            "drawn_logits": np.where(is_drawn[:, None], logits, np.nan) if draws else None,
            "log_densities": np.where(is_drawn, distribution.log_prob(logits), 0.0),
            "sigmas": np.full(n, self.sigma if draws else np.nan),
        }
        return LoggedBandit(**{**arrays, **changed})


def several(log: LoggedBandit, *others: LoggedBandit) -> LoggedBandit:
    """One log after the other."""
    logs = (log, *others)
    joined: dict[str, Any] = {}
    for name in ("states", "actions", "propensities", "probabilities", "mask", "rewards", "times"):
        joined[name] = np.concatenate([getattr(one, name) for one in logs])
    for name in ("log_densities", "sigmas"):
        joined[name] = np.concatenate([getattr(one, name) for one in logs])
    n_views = len(log.views)
    none = [np.full((len(one), n_views), np.nan) for one in logs]
    joined["drawn_logits"] = np.concatenate(
        [
            empty if one.drawn_logits is None else one.drawn_logits
            for empty, one in zip(none, logs, strict=True)
        ]
    )
    for name in ("policy_versions", "blends"):
        joined[name] = sum((getattr(one, name) for one in logs), ())
    names = tuple(f"d{row}" for row in range(sum(map(len, logs))))
    return replace(log, decision_ids=names, groups=names, **joined)
