"""What documents are known by doesn't depend on how a view counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_rewriter.training.credit.document_features import document_features
from tests.unit.training.blend.parts import N_DOCUMENTS, VIEWS, world

POOLS = world(12).pools
N = len(VIEWS)


@given(st.floats(0.01, 100.0), st.floats(-50.0, 50.0))
@settings(max_examples=20)
def test_scores_of_any_scale_are_alike(scale: float, shift: float) -> None:
    moved = replace(POOLS, scores=(scale * POOLS.scores + shift).astype(np.float32))
    found, expected = document_features(moved), document_features(POOLS)
    assert (np.abs(found - expected) > 0.01).mean() < 0.01  # ranks of near ties may change


def test_features_are_between_nothing_and_one() -> None:
    found = document_features(POOLS)
    assert found.shape == (12, N_DOCUMENTS, 2 * N + 3)
    assert found.min() >= 0.0
    assert found.max() <= 1.0


def test_what_all_views_put_first_has_all_features_at_one() -> None:
    scores = POOLS.scores.copy()
    scores[:, 7] = scores.max() + 1.0
    np.testing.assert_allclose(document_features(replace(POOLS, scores=scores))[:, 7], 1.0)


def test_what_one_view_puts_first_alone_is_seen_by_that_view_alone() -> None:
    scores = POOLS.scores.copy()
    scores[:, 7], scores[:, 7, 1] = scores.min() - 1.0, scores.max() + 1.0
    found = document_features(replace(POOLS, scores=scores))[:, 7]
    assert (found[:, [1, N + 1]] == 1.0).all()
    assert np.delete(found, [1, N + 1], axis=1).max() < 0.4


def test_where_there_is_no_candidate_and_no_view_there_is_nothing() -> None:
    mask = POOLS.mask.copy()
    mask[0], mask[1, 5:] = False, False
    present = POOLS.present.copy()
    present[:, 2] = False
    found = document_features(replace(POOLS, mask=mask, present=present))
    assert np.isfinite(found).all()
    assert not found[0].any()
    assert not found[1, 5:].any()
    assert not found[:, :, [2, N + 2]].any()
    assert found[1, :5, -1].all()  # the least of the views that there are


def test_many_queries_are_as_few() -> None:
    pools = world(450).pools
    found = document_features(pools)
    rows = [0, 199, 200, 401, 449]
    np.testing.assert_array_equal(found[rows], document_features(pools.subset(rows)))
