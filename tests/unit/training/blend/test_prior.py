"""Logits known from elsewhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from rl_rewriter.actions.blend_prior import BlendPrior
from rl_rewriter.training.blend.learner import Learner
from rl_rewriter.training.blend.prior import prior_penalty
from tests.unit.training.blend.parts import FAST, judge_of, world

PRIOR = BlendPrior(("query", "words"), np.asarray([2.0, 3.0], dtype=np.float32))


def test_only_what_differs_beyond_a_constant_is_held() -> None:
    prior = torch.tensor([1.0, 2.0, 3.0])
    assert float(prior_penalty(prior + 7.0, prior, 10.0, 5)) == pytest.approx(0.0, abs=1e-5)
    off = prior + torch.tensor([1.0, 0.0, -1.0])
    assert float(prior_penalty(off, prior, 10.0, 5)) == pytest.approx(2.0)


@pytest.mark.parametrize("queries", [0.0, 20.0, 1e5])
def test_the_more_queries_it_counts_for_the_closer_weights_stay(queries: float) -> None:
    drawn = world(40)
    logits = PRIOR.for_views(drawn.pools.views)
    config = replace(FAST, listwise=replace(FAST.listwise, prior_queries=queries))
    learner = Learner(judge_of(drawn.pools), config, logits)
    off = learner.same_for_all(np.arange(40), 0).bias - logits
    distance = float(np.square(off - off.mean()).sum())
    expected = {0.0: (3.0, 100.0), 20.0: (0.1, 3.0), 1e5: (0.0, 0.01)}[queries]
    assert expected[0] <= distance < expected[1]
