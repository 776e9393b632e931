"""Weights of views by query, in numpy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from rl_rewriter.actions.blend_head import BlendHead, TanhNetwork, masked_softmax
from rl_rewriter.errors import CheckpointError
from rl_rewriter.types import Matrix
from tests.unit.actions.conftest import head_of

ALL = np.ones((1, 3), dtype=np.bool_)
STATE = np.zeros((1, 2), dtype=np.float32)
Arrays = dict[str, Matrix]


def networks(seed: int = 0, n: int = 2) -> tuple[TanhNetwork, ...]:
    rng = np.random.default_rng(seed)

    def some(*shape: int) -> Matrix:
        return rng.standard_normal(shape).astype(np.float32)

    return tuple(TanhNetwork(some(4, 2), some(4), some(3, 4)) for _ in range(n))


def test_absent_views_have_no_weight_and_the_others_share_theirs() -> None:
    logits = np.log(np.asarray([[1.0, 2.0, 5.0]]))
    np.testing.assert_allclose(masked_softmax(logits, ALL), [[1 / 8, 2 / 8, 5 / 8]], rtol=1e-6)
    present = np.asarray([[True, True, False]])
    np.testing.assert_allclose(masked_softmax(logits, present), [[1 / 3, 2 / 3, 0]], rtol=1e-6)


def test_without_networks_all_queries_have_the_same_weights() -> None:
    head = head_of(weights=(0.5, 0.3, 0.2))
    states = np.random.default_rng(0).standard_normal((4, 2)).astype(np.float32)
    found = head.weights(states, np.ones((4, 3), dtype=np.bool_))
    np.testing.assert_allclose(found, np.tile([0.5, 0.3, 0.2], (4, 1)), rtol=1e-6)


def test_a_network_shifts_the_logits_by_hand() -> None:
    network = TanhNetwork(
        np.asarray([[1.0, 0.0]], dtype=np.float32),
        np.asarray([0.5], dtype=np.float32),
        np.asarray([[0.0], [2.0], [0.0]], dtype=np.float32),
    )
    head = replace(
        head_of(weights=(1 / 3, 1 / 3, 1 / 3)),
        mean=np.asarray([1.0, 0.0], dtype=np.float32),
        spread=np.asarray([2.0, 1.0], dtype=np.float32),
        networks=(network,),
    )
    raw = np.asarray([[2.0, 7.0], [1000.0, 0.0]], dtype=np.float32)
    shift = np.exp(2.0 * np.tanh([0.5 + 0.5, 3.0 + 0.5]))  # columns end at three deviations
    expected = np.stack([np.ones(2), shift, np.ones(2)], axis=1) / (2.0 + shift)[:, None]
    found = head.weights(raw, np.ones((2, 3), dtype=np.bool_))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_several_networks_are_averaged_in_weights() -> None:
    both, state = networks(), np.asarray([[0.3, -1.0]], dtype=np.float32)
    alone = [replace(head_of(), networks=(one,)).weights(state, ALL) for one in both]
    together = replace(head_of(), networks=both).weights(state, ALL)
    np.testing.assert_allclose(together, (alone[0] + alone[1]) / 2, rtol=1e-5)
    assert not np.allclose(alone[0], alone[1])


@pytest.mark.parametrize("strength", [0.0, 0.25, 1.0])
def test_strength_is_the_share_of_the_blend_and_the_rest_is_the_query(strength: float) -> None:
    head = head_of(weights=(0.5, 0.3, 0.2), strength=strength)
    expected = strength * np.asarray([0.5, 0.3, 0.2]) + (1 - strength) * np.asarray([1, 0, 0])
    np.testing.assert_allclose(head.weights(STATE, ALL)[0], expected, atol=1e-6)


def test_weights_sum_to_one_whatever_is_there() -> None:
    head = replace(head_of(strength=0.7), networks=networks())
    rng = np.random.default_rng(0)
    present = rng.random((50, 3)) < 0.5
    present[:, 0] = True
    found = head.weights(rng.standard_normal((50, 2)).astype(np.float32) * 100, present)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-5)
    assert not found[~present].any()


def test_all_numbers_come_back() -> None:
    head = replace(head_of(strength=0.7), networks=networks(), sigma=0.2)
    again = BlendHead.restore(head.views, head.arrays())
    assert again.version == head.version
    state = np.asarray([[0.3, -1.0]], dtype=np.float32)
    np.testing.assert_allclose(again.weights(state, ALL), head.weights(state, ALL), rtol=1e-6)
    assert [again.strength, again.sigma] == pytest.approx([0.7, 0.2])
    assert len(again.networks) == 2


@pytest.mark.parametrize(
    "changed",
    [
        {"views": ("query", "bm25_3", "words")},
        {"bias": np.asarray([0.0, 0.0, 1e-3], dtype=np.float32)},
        {"scale": np.asarray([1.0, 1.0, 2.0], dtype=np.float32)},
        {"mean": np.asarray([0.0, 1.0], dtype=np.float32)},
        {"spread": np.asarray([1.0, 2.0], dtype=np.float32)},
        {"strength": 0.9},
        {"networks": networks()},
    ],
)
def test_whatever_differs_makes_another_version(changed: dict[str, object]) -> None:
    plain = head_of(weights=(1 / 3, 1 / 3, 1 / 3))
    other = replace(plain, **changed)  # type: ignore[arg-type]
    assert other.version != plain.version
    assert replace(plain).version == plain.version


def without(name: str) -> Callable[[Arrays], object]:
    return lambda arrays: arrays.pop(name)


def holding(name: str, *numbers: float) -> Callable[[Arrays], object]:
    return lambda arrays: arrays.update({name: np.asarray(numbers, dtype=np.float32)})


def of_another_rank(arrays: Arrays) -> None:
    """A network whose arrays have one dimension more than they should, all alike."""
    n_columns, n_views = len(arrays["mean"]), len(arrays["bias"])
    shapes = {"inner": (1, 1, n_columns), "inner_bias": (1, 1), "outer": (n_views, 1, 1)}
    for part, shape in shapes.items():
        arrays[f"0.{part}"] = np.zeros(shape, dtype=np.float32)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (without("bias"), "is not complete"),
        (without("factors"), "is not complete"),
        (without("0.outer"), "is not complete"),
        (holding("factors", 1.0), "is not complete"),
        (holding("bias", 0.0, 0.0), "don't fit"),
        (holding("bias", 0.0, 0.0, np.nan), "don't fit"),
        (holding("scale", 1.0, 0.0, 1.0), "don't fit"),
        (holding("mean", 0.0, 0.0, 0.0), "don't fit"),
        (holding("spread", 1.0, -1.0), "don't fit"),
        (holding("spread", 1.0, np.inf), "don't fit"),
        (holding("factors", 1.5, 0.4), "don't fit"),
        (holding("factors", np.nan, 0.4), "don't fit"),
        (holding("factors", 1.0, 0.0), "don't fit"),
        (holding("0.inner_bias", 1.0, 2.0), "don't fit"),
        (holding("0.inner", 1.0, 2.0), "don't fit"),
        (of_another_rank, "don't fit"),
        (holding("1.outer", 1.0), "don't fit"),
    ],
)
def test_damaged_numbers_are_refused(damage: Callable[[Arrays], object], said: str) -> None:
    arrays = replace(head_of(), networks=networks()).arrays()
    damage(arrays)
    with pytest.raises(CheckpointError, match=said) as caught:
        BlendHead.restore(head_of().views, arrays)
    assert "\n" not in str(caught.value)
