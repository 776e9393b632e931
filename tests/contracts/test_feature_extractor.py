"""What every group of features promises."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import numpy as np
import pytest

import rl_rewriter.features
from rl_rewriter.features import FeatureExtractor
from rl_rewriter.features.first_ranking import FirstRanking, LexicalAgreement
from rl_rewriter.features.history import History
from rl_rewriter.features.query_embedding import QueryEmbedding
from rl_rewriter.features.query_text import QueryText
from rl_rewriter.types import Evidence, Needs

COMPONENTS = np.linspace(-1, 1, 3 * 32, dtype=np.float32).reshape(3, 32)
EXTRACTORS: tuple[FeatureExtractor, ...] = (
    QueryText(),
    History(),
    FirstRanking(),
    LexicalAgreement(),
    QueryEmbedding(COMPONENTS),
)
each_extractor = pytest.mark.parametrize(
    "extractor", EXTRACTORS, ids=lambda extractor: type(extractor).__name__
)


def test_every_group_is_checked_here() -> None:
    modules = [
        importlib.import_module(f"rl_rewriter.features.{module.name}")
        for module in pkgutil.iter_modules(rl_rewriter.features.__path__)
    ]
    groups = {
        value.__name__
        for module in modules
        for value in vars(module).values()
        if inspect.isclass(value) and hasattr(value, "extract") and value is not FeatureExtractor
    }
    assert groups == {type(extractor).__name__ for extractor in EXTRACTORS}


@each_extractor
def test_columns_have_names_of_their_own(extractor: FeatureExtractor) -> None:
    others = [name for other in EXTRACTORS if other is not extractor for name in other.columns]
    assert extractor.columns
    assert len(set(extractor.columns)) == len(extractor.columns)
    assert not set(extractor.columns) & set(others)
    assert isinstance(extractor.needs, Needs)
    assert Needs.HISTORY not in extractor.needs


@each_extractor
def test_one_finite_row_a_query(extractor: FeatureExtractor, evidence: list[Evidence]) -> None:
    rows = extractor.extract(evidence)
    assert rows.dtype == np.float32
    assert rows.shape == (len(evidence), len(extractor.columns))
    assert np.isfinite(rows).all()
    assert (rows.std(axis=0) > 0).any()


@each_extractor
def test_a_query_has_the_same_row_in_every_company(
    extractor: FeatureExtractor, evidence: list[Evidence]
) -> None:
    together = extractor.extract(evidence)
    for row, item in zip(together, evidence, strict=True):
        np.testing.assert_allclose(extractor.extract([item])[0], row, rtol=1e-5, atol=1e-6)
    assert extractor.extract([]).shape == (0, len(extractor.columns))


@each_extractor
def test_nothing_gathered_is_no_failure(
    extractor: FeatureExtractor, evidence: list[Evidence]
) -> None:
    bare = [Evidence(item.query, item.statistics) for item in evidence]
    assert np.isfinite(extractor.extract(bare)).all()
