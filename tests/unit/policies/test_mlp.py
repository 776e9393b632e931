"""The numpy network: logits by hand, the same as torch's, and what it refuses to restore."""

from __future__ import annotations

import numpy as np
import pytest

from rl_rewriter.errors import CheckpointError
from rl_rewriter.policies.mlp import Layer, MlpPolicy
from rl_rewriter.types import Matrix


def layer(weight: list[list[float]], bias: list[float]) -> Layer:
    return Layer(np.asarray(weight, dtype=np.float32), np.asarray(bias, dtype=np.float32))


POLICY = MlpPolicy(
    (layer([[1, -1], [0, 2], [1, 1]], [0, -1, 0]), layer([[1, 0, 2], [0, 1, 0]], [0.5, 0]))
)


def test_logits_by_hand() -> None:
    states = np.asarray([[1, 2], [-3, 0]], dtype=np.float32)
    # hidden: [max(-1, 0), max(3, 0), 3] and [0, 0, 0]
    np.testing.assert_allclose(POLICY.logits(states), [[6.5, 3.0], [0.5, 0.0]])
    assert (POLICY.n_features, POLICY.n_actions) == (2, 2)


def test_masked_distribution_and_batches() -> None:
    states = np.asarray([[1, 2], [1, 2]], dtype=np.float32)
    mask = np.asarray([[True, True], [True, False]])
    rows = POLICY.distribution(states, mask).probabilities
    assert rows[0, 0] == pytest.approx(1 / (1 + np.exp(3.0 - 6.5)))
    assert rows[1].tolist() == [1.0, 0.0]
    assert POLICY.distribution(states[:0], mask[:0]).probabilities.shape == (0, 2)


def test_round_trip_and_version() -> None:
    restored = MlpPolicy.restore(POLICY.arrays())
    assert restored.version == POLICY.version
    changed = dict(POLICY.arrays())
    changed["policy.1.bias"] = changed["policy.1.bias"] + np.float32(1e-3)
    assert MlpPolicy.restore(changed).version != POLICY.version


ONE = np.ones((2, 2), dtype=np.float32)
TWO = np.ones(2, dtype=np.float32)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({}, "holds no policy weights"),
        ({"policy.1.weight": ONE, "policy.1.bias": TWO}, "holds no policy weights"),
        ({"policy.0.weight": ONE}, "layer 0 of the policy has the wrong shape"),
        ({"policy.0.weight": TWO, "policy.0.bias": TWO}, "layer 0 .* wrong shape"),
        ({"policy.0.weight": ONE, "policy.0.bias": np.ones(3)}, "layer 0 .* wrong shape"),
        ({"policy.0.weight": ONE * np.nan, "policy.0.bias": TWO}, "layer 0 .* NaN or infinity"),
        ({"policy.0.weight": ONE, "policy.0.bias": TWO * np.inf}, "layer 0 .* NaN or infinity"),
        (
            {"policy.0.weight": ONE, "policy.0.bias": TWO, "policy.1.weight": np.ones((2, 3)),
             "policy.1.bias": TWO},
            "layer 1 .* wrong shape",
        ),
    ],
)  # fmt: skip
def test_broken_weights_are_refused(arrays: dict[str, Matrix], message: str) -> None:
    with pytest.raises(CheckpointError, match=message):
        MlpPolicy.restore(arrays)
