"""A comparison on a small collection, made once."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from rl_rewriter.benchmark.comparison.compare import compare_arms
from rl_rewriter.benchmark.comparison.compared import Compared, TrainedPolicies
from rl_rewriter.benchmark.comparison.config import BenchmarkConfig
from rl_rewriter.benchmark.comparison.figures import collection_record
from rl_rewriter.benchmark.comparison.files import write_collection
from rl_rewriter.benchmark.workbench import Workbench
from rl_rewriter.features.feature_set import FeatureSet
from rl_rewriter.features.query_text import QueryText
from rl_rewriter.training.config import FitConfig, ReinforceConfig
from tests.unit.benchmark.conftest import Trained

FIT = FitConfig(
    reinforce=ReinforceConfig(updates=60, evaluate_every=20, warm_up=5, learning_rate=0.01),
    ladder=None,
)
CONFIG = BenchmarkConfig(seeds=2, fit=FIT, folds=3, workers=1)


@dataclasses.dataclass(frozen=True)
class Columns:
    """A feature group of as many columns as a test needs."""

    columns: tuple[str, ...]
    needs = QueryText.needs

    def extract(self, evidence: object) -> None:
        raise AssertionError("states are given by hand")


def features(n_columns: int) -> FeatureSet:
    return FeatureSet((Columns(tuple(f"x{i}" for i in range(n_columns))),))  # type: ignore[arg-type]


def policies_of(compared: Compared) -> TrainedPolicies:
    """What is told of the policies, where some were trained."""
    assert compared.policies is not None
    return compared.policies


@pytest.fixture(scope="session")
def bench(trained: Trained) -> Workbench:
    return trained.bench


@pytest.fixture(scope="session")
def fits_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compared") / "fits"


@pytest.fixture(scope="session")
def compared(bench: Workbench, fits_dir: Path) -> Compared:
    """The shop, cross-validated by three folds with two seeds."""
    return compare_arms(bench, CONFIG, fits_dir=fits_dir)


@pytest.fixture(scope="session")
def written(compared: Compared, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the comparison was written to."""
    folder = tmp_path_factory.mktemp("written") / "shop.tfidf"
    write_collection(folder, compared, collection_record(compared))
    return folder
