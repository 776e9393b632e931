"""The four fits that blends are made of, each drawing its chance from the seed and its own name."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from rl_rewriter.training.blend.config import BlendConfig
from rl_rewriter.training.blend.listwise import Base, fit_by_query, fit_same_for_all
from rl_rewriter.training.blend.network import SameForAll, Shifted, generator_of
from rl_rewriter.training.blend.objective import Judge, weights_of
from rl_rewriter.training.blend.pools import Rows
from rl_rewriter.training.blend.reinforce import fine_tune
from rl_rewriter.types import Matrix, Vector

_SAME, _TUNED_SAME, _BY_QUERY, _TUNED_BY_QUERY = range(4)


@dataclass(frozen=True, eq=False)
class Learner:
    """Fits blends to rows of pools.

    Attributes:
        judge: The pools, and what a weighting is worth.
        config: Settings.
        prior: Logits to start from and to be held to, ``(v,)``; None for none.
    """

    judge: Judge
    config: BlendConfig
    prior: Vector | None = None

    def same_for_all(self, rows: Rows, fold: int) -> Base:
        """Weights fitted to whole rankings, the same for all."""
        chance = generator_of(self.config.seed, fold, _SAME)
        everything = self.judge.everything
        return fit_same_for_all(everything, rows, self.config.listwise, chance, self.prior)

    def tuned_same(self, base: Base, rows: Rows, fold: int) -> SameForAll:
        """The same, tuned on the metric and held to where they start."""
        chance = generator_of(self.config.seed, fold, _TUNED_SAME)
        model = SameForAll(base.bias)
        fine_tune(model, self.judge, rows, base.bias, self.config.fine_tune, chance)
        return model

    def by_query(self, base: Base, rows: Rows, pull: float, fold: int, member: int = 0) -> Shifted:
        """A network around the weights that are the same for all."""
        chance = generator_of(self.config.seed, fold, _BY_QUERY, member)
        everything = self.judge.everything
        return fit_by_query(everything, rows, base, pull, self.config.by_query, chance)

    def tuned_by_query(self, model: Shifted, rows: Rows, fold: int, member: int = 0) -> Shifted:
        """The same, tuned on the metric and held to the bias."""
        chance = generator_of(self.config.seed, fold, _TUNED_BY_QUERY, member)
        bias = model.bias.numpy().copy()
        tuned = Shifted.restore(bias, model.numpy(), dropout=self.config.by_query.dropout)
        fine_tune(tuned, self.judge, rows, bias, self.config.fine_tune, chance)
        return tuned

    def weights(self, model: SameForAll | Shifted, rows: Rows) -> Matrix:
        """What queries are searched by, ``(r, v)``."""
        everything, index = self.judge.everything, torch.from_numpy(rows)
        with torch.no_grad():
            logits = model(everything.states[index])
            found: Matrix = weights_of(logits, everything.present[index]).numpy()
        return found
