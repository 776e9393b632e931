"""Distributions: sampling, masks, divergences."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from rl_rewriter.errors import InputError
from rl_rewriter.policies.categorical import Categorical, masked_share, masked_softmax
from rl_rewriter.types import Matrix

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@st.composite
def logits_and_mask(draw: st.DrawFn) -> tuple[Matrix, Bools]:
    shape = draw(st.tuples(st.integers(1, 5), st.integers(1, 7)))
    logits = draw(hnp.arrays(np.float32, shape, elements=st.floats(-300, 300, width=32)))
    mask = draw(hnp.arrays(np.bool_, shape))
    mask[:, 0] = True
    return logits, mask


@settings(deadline=None)
@given(logits_and_mask(), st.integers(0, 2**32 - 1))
def test_masked_actions_are_never_taken(case: tuple[Matrix, Bools], seed: int) -> None:
    logits, mask = case
    distribution = Categorical(masked_softmax(logits, mask))
    np.testing.assert_allclose(distribution.probabilities.sum(axis=1), 1.0)
    assert not distribution.probabilities[~mask].any()
    rows = np.arange(len(logits))
    rng = np.random.default_rng(seed)
    for actions in [distribution.greedy(), *(distribution.sample(rng) for _ in range(20))]:
        assert mask[rows, actions].all()


@settings(deadline=None)
@given(logits_and_mask(), logits_and_mask())
def test_divergence_is_positive_and_zero_only_for_itself(
    case: tuple[Matrix, Bools], other: tuple[Matrix, Bools]
) -> None:
    logits, mask = case
    distribution = Categorical(masked_softmax(logits, mask))
    np.testing.assert_allclose(distribution.kl(distribution), 0.0, atol=1e-12)
    moved = np.resize(other[0], logits.shape)
    assert (distribution.kl(Categorical(masked_softmax(moved, mask))) >= -1e-9).all()
    n_possible = mask.sum(axis=1)
    assert (distribution.entropy() >= -1e-12).all()
    assert (distribution.entropy() <= np.log(n_possible) + 1e-9).all()


def test_frequencies_are_the_probabilities() -> None:
    probabilities = np.asarray([0.5, 0.0, 0.2, 0.25, 0.05, 0.0])
    n = 20_000
    distribution = Categorical(np.tile(probabilities, (n, 1)))
    drawn = distribution.sample(np.random.default_rng(0))
    counts = np.bincount(drawn, minlength=6)
    assert counts[probabilities == 0].sum() == 0
    possible = probabilities > 0
    test = stats.chisquare(counts[possible], n * probabilities[possible])
    assert test.pvalue > 0.01


def test_each_query_is_drawn_from_its_own_row() -> None:
    distribution = Categorical(np.eye(4))
    assert distribution.sample(np.random.default_rng(1)).tolist() == [0, 1, 2, 3]
    same = [Categorical(np.full((9, 3), 1 / 3)).sample(np.random.default_rng(5)) for _ in range(2)]
    assert same[0].tolist() == same[1].tolist()
    assert len(set(same[0].tolist())) > 1


class Edges:
    """Draws the lowest number there is, then the highest one."""

    def random(self, n: int) -> Floats:
        return np.asarray([0.0, 1.0 - 2.0**-53], dtype=np.float64)[:n]


def test_the_ends_of_the_distribution_are_possible_actions() -> None:
    distribution = Categorical(np.asarray([[0.0, 0.4, 0.6, 0.0]] * 2))
    assert distribution.sample(Edges()).tolist() == [1, 2]  # type: ignore[arg-type]


def test_log_probabilities_and_divergences_by_hand() -> None:
    p = Categorical(np.asarray([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0]]))
    q = Categorical(np.asarray([[0.25, 0.75, 0.0], [0.25, 0.75, 0.0]]))
    np.testing.assert_allclose(p.log_prob(np.asarray([0, 1])), np.log([0.5, 0.75]))
    assert p.log_prob(np.asarray([2, 2])).max() < -20
    expected = 0.5 * np.log(0.5 / 0.25) + 0.5 * np.log(0.5 / 0.75)
    np.testing.assert_allclose(p.kl(q), [expected, 0.0])
    np.testing.assert_allclose(p.entropy()[0], np.log(2))
    assert p.greedy().tolist() == [0, 1]
    with pytest.raises(InputError, match=r"shapes \(2, 3\) and \(1, 3\)"):
        p.kl(Categorical(np.ones((1, 3)) / 3))


@settings(deadline=None)
@given(
    hnp.arrays(np.float64, 5, elements=st.sampled_from([0.0, 0.1, 0.25, 1.0])).filter(np.any),
    hnp.arrays(np.bool_, (3, 5)),
)
def test_fixed_shares_are_renormalised_over_what_is_possible(shares: Floats, mask: Bools) -> None:
    mask[:, 0] = True
    rows = masked_share(shares / shares.sum(), mask)
    np.testing.assert_allclose(rows.sum(axis=1), 1.0)
    assert not rows[~mask].any()
    for row, possible in zip(rows, mask, strict=True):
        if (shares * possible).sum() > 0:
            np.testing.assert_allclose(row * (shares * possible).sum(), shares * possible)
        else:
            assert row.tolist() == [1, 0, 0, 0, 0]


def test_huge_logits_stay_finite() -> None:
    logits = np.asarray([[3e38, -3e38, 0.0]], dtype=np.float32)
    mask = np.ones((1, 3), dtype=np.bool_)
    assert masked_softmax(logits, mask).tolist() == [[1.0, 0.0, 0.0]]
