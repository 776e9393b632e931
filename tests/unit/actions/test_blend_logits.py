"""Weights and their logits undo each other, whatever the shift."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from rl_rewriter.actions.blend_logits import Logits, centred, logits_of, weights_of

NUMBERS = arrays.arrays(np.float64, (3, 5), elements=st.floats(-50, 50))
PRESENT = arrays.arrays(np.bool_, (3, 5)).map(lambda found: found | (np.arange(5) == 0))


@given(NUMBERS, PRESENT, st.floats(-100, 100))
def test_weights_sum_to_one_and_give_their_logits_back(
    numbers: Logits, present: np.ndarray, shift: float
) -> None:
    logits = centred(numbers + shift, present)
    weights = weights_of(logits)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-12)
    assert ((weights > 0) == present).all()
    np.testing.assert_allclose(weights_of(centred(numbers, present)), weights, rtol=1e-9)
    np.testing.assert_allclose(logits_of(weights), logits, atol=1e-9)


def test_by_hand() -> None:
    logits = logits_of(np.asarray([[0.8, 0.2, 0.0], [1.0, 0.0, 0.0]]))
    half = np.log(4.0) / 2.0
    np.testing.assert_allclose(logits, [[half, -half, -np.inf], [0.0, -np.inf, -np.inf]])
