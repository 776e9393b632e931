"""A log's queries are searched again as they were asked, and as deep as users looked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rl_rewriter.training.replay.searching as searching
from rl_rewriter.actions.feedback import FuseWithBm25
from rl_rewriter.actions.keep import Keep
from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.errors import CollectionError
from rl_rewriter.features.feature_set import default_features
from rl_rewriter.logs.shown import read_shown
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.retrieval.protocols import Retriever
from rl_rewriter.rewards.reward import RewardConfig
from rl_rewriter.training.config import FitConfig
from rl_rewriter.training.fit import collection_statistics
from rl_rewriter.training.replay.searching import Again, Searcher
from rl_rewriter.types import Filters, Query
from tests.bandits import bandit
from tests.support import TokenEmbedder, chroma_collection
from tests.unit.logs.test_shown import record

TEXTS = {f"{tenant}{n}": f"w{n} x{n} money back {n}" for tenant in "ab" for n in range(12)}
SPACE = ActionSpace((Keep(), FuseWithBm25(0.4)))


@pytest.fixture(scope="module")
def collection() -> Any:
    tenants = [{"tenant": name[0]} for name in TEXTS]
    return chroma_collection(TEXTS, TokenEmbedder(8), metadatas=tenants)


@pytest.fixture(scope="module")
def retriever(collection: Any, tmp_path_factory: pytest.TempPathFactory) -> Retriever:
    folder = tmp_path_factory.mktemp("bm25")
    return chroma_retriever(collection, TokenEmbedder(8), cache_dir=folder)


def searcher(retriever: Retriever, *, k: int = 3, **changes: Any) -> Searcher:
    """Twelve queries of tenant a, asked twice; the right document stands first or isn't shown."""
    records = []
    for number in range(24):
        query = Query(f"w{number % 12} please", filters=Filters({"tenant": "a"}))
        right, others = f"a{number % 12}", [f"a{(number + n) % 12}" for n in range(1, k)]
        listed = [right, *others] if number < 12 else [*others, "gone"]
        records.append(record(str(number), query, listed))
    log = replace(
        bandit(24), rewards=(np.arange(24) < 12).astype(np.float64), times=np.arange(24.0)
    )
    settings: dict[str, Any] = {
        "log": log,
        "shown": read_shown(records, [str(number) for number in range(24)]),
        "retriever": retriever,
        "statistics": collection_statistics(retriever),
        "features": default_features(retriever.offers),
        "config": FitConfig(),
        "tell": lambda stage, done, total: None,
    }
    return Searcher(**settings | changes)


def test_filters_hold_again(retriever: Retriever) -> None:
    found = searcher(retriever).search(np.arange(24), SPACE)
    assert isinstance(found, Again)
    assert len(found.queries) == 12
    assert all(id_.startswith("a") for id_ in found.outcomes.documents)
    assert all(id_.startswith("a") for grades in found.grades.values() for id_ in grades)


def test_right_documents_are_credited_and_gone_ones_are_not(retriever: Retriever) -> None:
    found = searcher(retriever).search(np.arange(24), SPACE)
    assert isinstance(found, Again)
    for query in found.queries:
        grades = found.grades[query.id]
        assert "gone" not in grades
        right = "a" + query.text.split()[0][1:]
        assert grades[right] > 0.5
        assert max(grades, key=lambda id_: grades[id_]) == right


@pytest.mark.parametrize("k", [2, 4])
def test_what_users_never_look_at_is_worth_nothing(retriever: Retriever, k: int) -> None:
    one = searcher(retriever, k=k)
    assert one.metric.name == f"dcg@{k}"
    found = one.search(np.arange(24), SPACE)
    assert isinstance(found, Again)
    assert found.outcomes.depth == k
    grades = found.grades[found.queries[0].id]
    listed = [found.outcomes.documents[place] for place in found.outcomes.ranked[0, 1]]
    expected = found.credit.base + one.metric(listed, grades)
    assert found.values[0, 1] == pytest.approx(expected)


def test_prices_are_paid(retriever: Retriever) -> None:
    priced = replace(FitConfig(), reward=RewardConfig(rewrite_cost=0.1))
    free = searcher(retriever).search(np.arange(24), SPACE)
    found = searcher(retriever, config=priced).search(np.arange(24), SPACE)
    assert isinstance(free, Again)
    assert isinstance(found, Again)
    np.testing.assert_allclose(found.values[:, 0], free.values[:, 0])
    np.testing.assert_allclose(found.values[:, 1], free.values[:, 1] - 0.1)


def test_of_too_many_queries_those_asked_last_are_searched(
    retriever: Retriever, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "MOST_QUERIES", 5)
    found = searcher(retriever).search(np.arange(24), SPACE)
    assert isinstance(found, Again)
    assert {query.text for query in found.queries} == {f"w{n} please" for n in range(7, 12)}
    assert sorted(found.decisions.tolist()) == [*range(7, 12), *range(19, 24)]
    numbers = [found.queries[row].text for row in found.asked]
    assert numbers == [f"w{row % 12} please" for row in found.decisions]


def test_where_there_is_nothing_to_credit(retriever: Retriever) -> None:
    assert searcher(retriever).search(np.arange(12), SPACE) == "all rewards are the same"
    words = Bm25Retriever(TEXTS)
    assert searcher(words).search(np.arange(24), SPACE) == "this retriever can't search any"


def test_a_collection_that_is_gone_is_an_error(tmp_path: Path) -> None:
    import chromadb

    client = chromadb.EphemeralClient()
    lost = chroma_collection(TEXTS, TokenEmbedder(8), client=client)
    retriever = chroma_retriever(lost, TokenEmbedder(8), cache_dir=tmp_path)
    one = searcher(retriever)
    client.delete_collection(lost.name)
    with pytest.raises(CollectionError):
        one.search(np.arange(24), SPACE)
