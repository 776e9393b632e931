"""Credit of documents from rewards of whole lists."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_rewriter.errors import InputError
from rl_rewriter.rewards.metrics import Metric
from rl_rewriter.training.credit.assign import assign_credit, grades_of, judged_by
from rl_rewriter.training.credit.document_features import document_features
from rl_rewriter.training.credit.regression import PENALTIES, fit_expected
from rl_rewriter.training.credit.slates import DEPTH
from tests.unit.training.blend.parts import world
from tests.unit.training.credit.slate_worlds import dcg, shown_in, slates_about

SMALL = world(40).pools


@given(
    st.floats(0.1, 50.0),
    st.floats(-100.0, 100.0),
    st.integers(0, 5),
)
@settings(max_examples=25)
def test_credits_follow_the_scale_of_rewards(scale: float, shift: float, seed: int) -> None:
    """Rewards from -1 to 1, 1 to 5, or in cents: credit is in their units, from what 0 was."""
    slates = slates_about(SMALL, 3, noise=0.1, seed=seed)
    credit = assign_credit(SMALL, slates)
    moved = assign_credit(SMALL, replace(slates, rewards=scale * slates.rewards + shift))
    np.testing.assert_allclose(moved.values, scale * credit.values, atol=1e-6 * scale)
    assert moved.base == pytest.approx(scale * credit.base + shift, abs=1e-6 * scale)
    assert moved.own_explained == pytest.approx(credit.own_explained, abs=1e-6)
    assert moved.explained == pytest.approx(credit.explained, abs=1e-6)


@given(st.randoms(), st.integers(0, 5))
@settings(max_examples=25)
def test_the_order_of_decisions_does_not_matter(random: object, seed: int) -> None:
    slates = slates_about(SMALL, 3, noise=0.1, seed=seed)
    order = list(range(len(slates)))
    random.shuffle(order)  # type: ignore[attr-defined]
    again = assign_credit(SMALL, slates.of(np.asarray(order)))
    np.testing.assert_allclose(again.values, assign_credit(SMALL, slates).values, atol=1e-9)


def test_a_decision_of_twice_the_weight_counts_as_two() -> None:
    slates = slates_about(SMALL, 2, noise=0.1)
    twice = slates.of(np.r_[np.arange(len(slates)), np.arange(10)])
    weights = np.where(np.arange(len(slates)) < 10, 2.0, 1.0)
    weighted = assign_credit(SMALL, replace(slates, weights=weights))
    np.testing.assert_allclose(weighted.values, assign_credit(SMALL, twice).values, atol=1e-9)


def test_what_documents_truly_earn_is_found_from_many_lists() -> None:
    pools = world(60, tells_kind=False).pools
    slates = slates_about(pools, 40, noise=0.05)
    credit = assign_credit(pools, slates)
    shown = shown_in(slates, pools)
    truth = pools.gains[shown].astype(np.float64)
    assert np.corrcoef(credit.values[shown], truth)[0, 1] > 0.9
    assert credit.own_explained > 0.8
    assert credit.own_explained > credit.explained


def test_with_one_list_a_query_features_are_followed() -> None:
    pools = world(400).pools
    slates = slates_about(pools, 1)
    credit = assign_credit(pools, slates)
    assert credit.explained > 0.05
    is_relevant = pools.gains > 0
    assert credit.values[is_relevant].mean() > 3 * credit.values[~is_relevant].mean()
    never = ~shown_in(slates, pools)
    best = (pools.scores * ~pools.is_lexical).argmax(axis=1)[:, 1:3]
    is_best = np.zeros_like(never)
    is_best[np.arange(len(pools))[:, None], best] = True
    assert credit.values[never & is_best].mean() > 3 * credit.values[never & ~is_best].mean()


def test_what_is_never_shown_gets_little() -> None:
    pools = world(100).pools
    slates = slates_about(pools, 20)
    credit, never = assign_credit(pools, slates), ~shown_in(slates, pools)
    assert never.sum() > 100
    shown = credit.values[~never & (pools.gains > 0)].mean()
    assert credit.values[never].mean() < 0.15 * shown
    assert np.quantile(credit.values[never], 0.95) < 0.4 * shown


@pytest.mark.parametrize("n_lists", [1, 4, 20])
def test_lists_are_worth_what_they_earned_on_average(n_lists: int) -> None:
    slates = slates_about(SMALL, n_lists, noise=0.1)
    credit = assign_credit(SMALL, slates)
    told = dcg(replace(SMALL, gains=credit.values.astype(np.float32)), slates.rows, slates.places)
    assert credit.base + told.mean() == pytest.approx(slates.rewards.mean(), abs=1e-6)


def test_credit_is_a_grade() -> None:
    """Negative rewards too: no document has less than nothing, and dcg judges by it."""
    slates = slates_about(SMALL, 5)
    credit = assign_credit(SMALL, replace(slates, rewards=slates.rewards - 3.0))
    assert credit.values.min() >= 0.0
    graded = judged_by(SMALL, credit)
    np.testing.assert_allclose(graded.gains, credit.values, rtol=1e-6)
    assert (np.diff(graded.ideal, axis=1) <= 0).all()
    ranked = np.tile(np.arange(DEPTH), (len(SMALL), 1, 1))
    values = Metric("dcg", DEPTH).values(graded.judge(np.arange(len(SMALL)), ranked, DEPTH))
    ids = tuple(f"q{row}" for row in range(len(SMALL)))
    grades = grades_of(SMALL, credit, ids)
    listed = [SMALL.documents[place] for place in range(DEPTH)]
    told = [Metric("dcg", DEPTH)(listed, grades[id_]) for id_ in ids]
    np.testing.assert_allclose(values[:, 0], told, rtol=1e-5)


def test_lists_shorter_than_ten_are_lists() -> None:
    slates = slates_about(SMALL, 10, depth=3)
    credit, shown = assign_credit(SMALL, slates), shown_in(slates, SMALL)
    assert np.corrcoef(credit.values[shown], SMALL.gains[shown])[0, 1] > 0.6


def test_lists_of_documents_that_are_gone_credit_nobody() -> None:
    slates = slates_about(SMALL, 2)
    gone = replace(slates, places=np.full_like(slates.places, -1))
    assert not assign_credit(SMALL, gone).values.any()


def test_records_that_are_nearly_forgotten_are_no_obstacle() -> None:
    slates = slates_about(SMALL, 4, noise=0.1)
    weights = np.where(np.arange(len(slates)) % 2, 1.0, 1e-12)
    credit = assign_credit(SMALL, replace(slates, weights=weights))
    alone = assign_credit(SMALL, slates.of(np.flatnonzero(weights == 1.0)))
    assert np.isfinite(credit.values).all()
    assert np.corrcoef(credit.values.ravel(), alone.values.ravel())[0, 1] > 0.95


@pytest.mark.parametrize("n", [0, 5])
def test_without_a_difference_there_is_no_credit(n: int) -> None:
    slates = slates_about(SMALL, 1).of(np.arange(n))
    with pytest.raises(InputError, match="no credit can be assigned") as caught:
        assign_credit(SMALL, replace(slates, rewards=np.ones(n)))
    assert "\n" not in str(caught.value)


def test_one_query_explains_no_other() -> None:
    pools = world(1).pools
    slates = slates_about(pools, 8)
    assert float(np.ptp(slates.rewards)) > 0
    assert assign_credit(pools, slates).explained == 0.0
    model = fit_expected(document_features(pools), slates)
    assert model.penalty == max(PENALTIES)


def test_folds_are_of_queries_whatever_their_numbers() -> None:
    """Queries 0, 5, 10, ... would all be of one fold by their numbers."""
    pools = world(200).pools
    slates = slates_about(pools, 2)
    some = slates.of(np.flatnonzero(slates.rows % 5 == 0))
    found = fit_expected(document_features(pools), some)
    assert 0.0 < found.explained < 1.0


def test_few_queries_are_judged_by_what_others_tell_of_documents() -> None:
    many = world(400).pools
    known = assign_credit(many, slates_about(many, 2))
    found: dict[str, list[float]] = {"alone": [], "told": []}
    for seed in range(1, 9):
        few = world(15, seed=seed).pools
        slates, is_relevant = slates_about(few, 1, seed=seed), few.gains.ravel() > 0
        for name, other in (("alone", None), ("told", known)):
            credit = assign_credit(few, slates, other)
            found[name].append(np.corrcoef(credit.values.ravel(), is_relevant)[0, 1])
            assert (credit.model is known.model) is (name == "told")
    assert np.mean(found["told"]) > np.mean(found["alone"]) + 0.05


def test_what_is_known_of_other_views_is_not_used() -> None:
    slates = slates_about(SMALL, 3)
    known = replace(assign_credit(SMALL, slates), views=("others",), span=(-5.0, 100.0))
    found = assign_credit(SMALL, slates, known)
    assert found.values.tolist() == assign_credit(SMALL, slates).values.tolist()
