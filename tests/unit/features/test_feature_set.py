"""Feature groups together: widths, scaling, round trips, and inputs that nobody foresaw."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_rewriter.errors import CheckpointError
from rl_rewriter.features import FeatureExtractor, FeatureSet, default_features
from rl_rewriter.features.first_ranking import FirstRanking, LexicalAgreement
from rl_rewriter.features.history import History
from rl_rewriter.features.query_embedding import QueryEmbedding
from rl_rewriter.features.query_text import QueryText
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.types import MAX_QUERY_CHARS, Evidence, Matrix, Needs, Query, Ranking, Turn
from tests.support import NASTY_TEXTS

EVERYTHING = ~Needs.NOTHING
STATISTICS = CollectionStatistics(10, {"refund": 2, "word": 3})
FINITE = st.floats(-1e6, 1e6, width=32)


def evidence(text: str, *, history: str = "", scores: tuple[float, ...] = (0.9, 0.2)) -> Evidence:
    found = np.sort(np.asarray(scores, dtype=np.float32))[::-1]
    ranking = Ranking(tuple(str(n) for n in range(len(found))), found)
    turns = (Turn("user", history),) if history else ()
    vector = np.asarray([1.0, len(text) % 7], dtype=np.float32)
    return Evidence(Query(text, turns), STATISTICS, vector, first=ranking, lexical=ranking)


TRAINING = [
    evidence("refund my card"),
    evidence("word", scores=(0.5,)),
    evidence("a?", history="b"),
]


def all_groups() -> FeatureSet:
    return default_features(EVERYTHING, TRAINING, embedding_components=2)


def test_all_groups_stand_side_by_side() -> None:
    features = all_groups()
    kinds = [type(extractor) for extractor in features.extractors]
    assert kinds == [QueryText, History, FirstRanking, LexicalAgreement, QueryEmbedding]
    assert len(set(features.columns)) == len(features.columns)
    assert features.states(TRAINING).shape == (3, len(features.columns))
    assert features.states([]).shape == (0, len(features.columns))
    assert features.needs == (Needs.FIRST_RANKING | Needs.LEXICAL | Needs.VECTOR)


def test_only_groups_that_can_be_fed() -> None:
    assert default_features(Needs.NOTHING).needs == Needs.NOTHING
    assert default_features(Needs.FIRST_RANKING).to_json() == [
        "QueryText",
        "History",
        "FirstRanking",
    ]
    assert "QueryEmbedding" not in default_features(EVERYTHING).to_json()


def test_states_of_the_training_queries_are_standardised() -> None:
    states = all_groups().fitted(TRAINING).states(TRAINING)
    assert states.dtype == np.float32
    np.testing.assert_allclose(states.mean(axis=0), 0.0, atol=1e-5)
    spread = states.std(axis=0)
    assert np.all((np.abs(spread - 1) < 1e-3) | (spread == 0))


def test_far_values_are_clipped() -> None:
    features = all_groups().fitted(TRAINING)
    states = features.states([evidence("x" * 9_999, scores=(1e9, -1e9))])
    assert np.abs(states).max() == 5.0


@pytest.mark.parametrize("number", range(len(NASTY_TEXTS)))
def test_nasty_texts_give_finite_states(number: int) -> None:
    text = NASTY_TEXTS[number]
    asked = [evidence(text[:MAX_QUERY_CHARS]), evidence("refund", history=text or "x")]
    assert np.isfinite(all_groups().states(asked)).all()
    assert np.isfinite(all_groups().fitted(TRAINING).states(asked)).all()


@settings(max_examples=50, deadline=None)
@given(st.text(), st.text(), st.lists(FINITE, max_size=12).map(tuple))
def test_states_are_finite_for_every_text_and_ranking(
    text: str, history: str, scores: tuple[float, ...]
) -> None:
    states = all_groups().fitted(TRAINING).states([evidence(text, history=history, scores=scores)])
    assert np.isfinite(states).all()


def test_restored_features_give_the_same_states() -> None:
    features = all_groups().fitted(TRAINING)
    restored = FeatureSet.restore(features.to_json(), features.arrays())
    assert restored.columns == features.columns
    assert restored.fingerprint == features.fingerprint
    np.testing.assert_array_equal(restored.states(TRAINING), features.states(TRAINING))


def test_fingerprint_follows_columns_and_their_order() -> None:
    sets: list[tuple[FeatureExtractor, ...]] = [
        (QueryText(), History()),
        (History(), QueryText()),
        (QueryText(),),
    ]
    assert len({FeatureSet(extractors).fingerprint for extractors in sets}) == 3


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("features.mean", None, "do not fit its 20 feature columns"),
        ("features.scale", np.ones(3, dtype=np.float32), "do not fit its 20 feature columns"),
        ("features.mean", np.full(20, np.nan, dtype=np.float32), "NaN, infinity or a scale of 0"),
        ("features.scale", np.zeros(20, dtype=np.float32), "NaN, infinity or a scale of 0"),
    ],
)
def test_wrong_statistics_are_refused(name: str, array: Matrix | None, message: str) -> None:
    features = FeatureSet((QueryText(), History())).fitted(TRAINING)
    arrays = {key: value for key, value in features.arrays().items() if key != name}
    if array is not None:
        arrays[name] = array
    with pytest.raises(CheckpointError, match=message):
        FeatureSet.restore(features.to_json(), arrays)


@pytest.mark.parametrize("group", ["Weather", "QueryEmbedding"])
def test_unknown_groups_and_missing_components_are_refused(group: str) -> None:
    with pytest.raises(CheckpointError, match=f"unknown features '{group}'"):
        FeatureSet.restore([group], {})
