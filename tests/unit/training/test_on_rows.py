"""A fit on part of a table, without a retriever."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rl_rewriter.errors import InputError
from rl_rewriter.features.feature_set import FeatureSet
from rl_rewriter.features.query_text import QueryText
from rl_rewriter.training.config import FitConfig, ReinforceConfig
from rl_rewriter.training.loop import train_on_tables
from rl_rewriter.training.on_rows import fit_on_rows, training_rows
from rl_rewriter.training.splits import split_rows
from tests.tables import table_of

FEATURES = FeatureSet((QueryText(),))
RNG = np.random.default_rng(0)
TABLE = table_of(RNG.random((30, 3)), states=5.0 + RNG.normal(size=(30, len(FEATURES.columns))))
CONFIG = FitConfig(reinforce=ReinforceConfig(updates=20, evaluate_every=10, warm_up=2, seed=3))
ROWS = (list(range(20)), list(range(20, 30)))


def test_states_are_scaled_by_the_training_rows_alone() -> None:
    found = fit_on_rows(TABLE, FEATURES, ROWS, CONFIG)
    assert found.features.mean is not None
    np.testing.assert_allclose(found.features.mean, TABLE.states[:20].mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(found.table.states[:20].mean(axis=0), 0.0, atol=1e-5)
    assert abs(found.table.states[20:].mean(axis=0)).max() > 1e-3
    assert FEATURES.mean is None


def test_training_and_choosing_use_their_own_rows() -> None:
    found = fit_on_rows(TABLE, FEATURES, ROWS, CONFIG)
    scaled = replace(TABLE, states=found.features.standardised(TABLE.states))
    expected = train_on_tables(scaled.subset(ROWS[0]), scaled.subset(ROWS[1]), CONFIG)
    assert found.outcome.policy.version == expected.policy.version
    assert found.outcome.validation == expected.validation
    assert found.outcome.validation["keep"] == pytest.approx(TABLE.values[20:, 0].mean())


def test_looks_are_told() -> None:
    looks: list[tuple[int, float]] = []
    fit_on_rows(
        TABLE,
        FEATURES,
        ROWS,
        CONFIG,
        on_look=lambda update, metrics: looks.append((update, metrics["validation/reward"])),
    )
    assert [update for update, _ in looks] == [10, 20]


def test_rows_are_divided_by_group_and_seed() -> None:
    groups = [f"need {row // 3}" for row in range(30)]
    train, validation = training_rows(groups, CONFIG)
    assert (train, validation) == split_rows(groups, 0.2, seed=3)
    assert len(validation) == 6
    assert not {groups[row] for row in train} & {groups[row] for row in validation}
    with pytest.raises(InputError, match="at least two needs or conversations"):
        training_rows(["one"] * 30, CONFIG)
