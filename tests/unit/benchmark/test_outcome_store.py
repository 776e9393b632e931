"""What was searched once is never searched again, and reads back as it was."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from rl_rewriter.actions.conversation import HistoryInFront
from rl_rewriter.actions.keep import Keep
from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.actions.words import Keywords, RarestTerms
from rl_rewriter.benchmark import outcome_store
from rl_rewriter.benchmark.outcome_store import OutcomeStore
from rl_rewriter.envs.outcomes import Outcomes
from rl_rewriter.envs.retrieval import carry_out
from rl_rewriter.features.feature_set import default_features
from rl_rewriter.retrieval.protocols import FilterList
from rl_rewriter.retrieval.tfidf import TfidfRetriever
from rl_rewriter.types import Query, Ranking, Rewrite, Turn
from tests.support import DOCUMENTS, QUERIES

TWO = ActionSpace((Keep(), Keywords()))
THREE = ActionSpace((Keep(), RarestTerms(), Keywords(), HistoryInFront("last_user")))
ASKED = (
    *(Query(text, id=f"q{row}") for row, text in enumerate(QUERIES)),
    Query("and abroad?", history=(Turn("user", "delivery"), Turn("assistant", "yes")), id="h"),
    Query("and abroad?", id="without"),
    Query(QUERIES[0], id="again"),
)


class Counting(TfidfRetriever):
    """Remembers what was searched; can break down."""

    def __init__(self) -> None:
        super().__init__(DOCUMENTS, ngram_range=(2, 4))
        self.searched: list[str] = []
        self.breaks_at: str | None = None

    def search(
        self,
        rewrites: Sequence[Rewrite],
        *,
        k: int,
        filters: FilterList | None = None,
        with_documents: bool = False,
    ) -> list[Ranking]:
        self.searched.extend(rewrite.text for rewrite in rewrites)
        if self.breaks_at in self.searched:
            raise KeyboardInterrupt
        return super().search(rewrites, k=k, filters=filters, with_documents=with_documents)


def store(folder: Path, retriever: Counting) -> OutcomeStore:
    return OutcomeStore(folder, retriever, retriever.statistics(), identity=retriever.fingerprint())


def ask(
    folder: Path, retriever: Counting, actions: ActionSpace = THREE, depth: int = 10
) -> Outcomes:
    features = default_features(retriever.offers)
    return store(folder, retriever)(ASKED, actions, features, depth)


def by_hand(retriever: Counting, actions: ActionSpace = THREE) -> Outcomes:
    features = default_features(retriever.offers)
    return carry_out(ASKED, retriever, retriever.statistics(), actions, features, depth=10)


def assert_same(found: Outcomes, expected: Outcomes) -> None:
    assert found.queries == expected.queries
    assert found.action_names == expected.action_names
    assert found.columns == expected.columns
    for name in ("features", "mask", "applied", "effort"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
    assert set(found.documents) >= {id_ for row in ids(expected) for cell in row for id_ in cell}
    assert ids(found) == ids(expected)


def ids(outcomes: Outcomes) -> list[list[list[str]]]:
    names = (*outcomes.documents, "")
    return [[[names[n] for n in cell] for cell in row] for row in outcomes.ranked.tolist()]


def test_outcomes_are_those_of_a_search(tmp_path: Path) -> None:
    retriever = Counting()
    expected = by_hand(retriever)
    assert_same(ask(tmp_path, retriever), expected)
    assert_same(ask(tmp_path, retriever), expected)


def test_the_second_time_nothing_is_searched(tmp_path: Path) -> None:
    ask(tmp_path, Counting())
    later = Counting()
    ask(tmp_path, later)
    assert later.searched == []


def test_a_new_action_is_carried_out_alone(tmp_path: Path) -> None:
    ask(tmp_path, Counting(), TWO)
    later = Counting()
    assert_same(ask(tmp_path, later), by_hand(Counting()))
    assert "delivery abroad" in later.searched  # the rarest terms, which are new
    assert "long delivery abroad take" not in later.searched  # the keywords, which aren't


def test_fewer_actions_in_another_order_need_no_search(tmp_path: Path) -> None:
    ask(tmp_path, Counting())
    later = Counting()
    fewer = ActionSpace((Keep(), Keywords(), RarestTerms()))
    assert_same(ask(tmp_path, later, fewer), by_hand(Counting(), fewer))
    assert later.searched == []


def test_equal_queries_are_searched_once(tmp_path: Path) -> None:
    retriever = Counting()
    found = ask(tmp_path, retriever, ActionSpace((Keep(),)))
    assert retriever.searched.count(QUERIES[0]) == 2  # once for the features, once for keep
    assert ids(found)[0] == ids(found)[-1]


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcome_store, "CHUNK", 2)
    broken = Counting()
    broken.breaks_at = QUERIES[3]
    with pytest.raises(KeyboardInterrupt):
        ask(tmp_path, broken)
    later = Counting()
    assert_same(ask(tmp_path, later), by_hand(Counting()))
    assert QUERIES[0] not in later.searched
    assert QUERIES[3] in later.searched


def test_a_damaged_file_is_searched_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    ask(tmp_path, Counting())
    for path in tmp_path.rglob("*.parquet"):
        path.write_bytes(path.read_bytes()[:100])
    later = Counting()
    assert_same(ask(tmp_path, later), by_hand(Counting()))
    assert QUERIES[0] in later.searched
    assert "cannot be read and is searched again" in caplog.text
    caplog.clear()
    again = Counting()
    ask(tmp_path, again)
    assert (again.searched, caplog.text) == ([], "")


def test_another_collection_has_outcomes_of_its_own(tmp_path: Path) -> None:
    ask(tmp_path, Counting())
    features = default_features(Counting().offers)
    retriever = TfidfRetriever({**DOCUMENTS, "new": "Money back at once!"}, ngram_range=(2, 4))
    other = OutcomeStore(
        tmp_path, retriever, retriever.statistics(), identity=retriever.fingerprint()
    )
    assert "new" in other(ASKED, TWO, features, 10).documents


def test_filters_and_history_make_another_query(tmp_path: Path) -> None:
    found = ask(tmp_path, Counting())
    rows = {query.id: row for row, query in enumerate(ASKED)}
    assert found.applied[rows["h"], 3]
    assert not found.applied[rows["without"], 3]


def test_who_said_a_turn_and_its_case_make_another_query(tmp_path: Path) -> None:
    retriever = Counting()
    features = default_features(retriever.offers)
    turns = (Turn("user", "Voucher price"), Turn("assistant", "Voucher price"))
    twins = [Query("and?", (turn,), id=turn.role) for turn in turns]
    asked = [*twins, Query("AND?", turns[:1]), Query("and?", (Turn("user", "VOUCHER price"),))]
    expected = carry_out(asked, retriever, retriever.statistics(), THREE, features, depth=10)
    found = store(tmp_path, retriever)(asked, THREE, features, 10)
    assert_same(found, expected)
    assert found.applied[:, 3].tolist() == [True, False, True, True]


def test_no_temporary_file_is_left(tmp_path: Path) -> None:
    ask(tmp_path, Counting())
    assert [path.name for path in tmp_path.rglob(".*")] == []
    assert list(tmp_path.rglob("*.parquet"))


def test_deeper_rankings_are_kept_apart(tmp_path: Path) -> None:
    shallow, deep = ask(tmp_path, Counting()), ask(tmp_path, Counting(), depth=12)
    assert (shallow.depth, deep.depth) == (10, 12)
    assert ids(deep)[0][0][:10] == ids(shallow)[0][0]
    assert dataclasses.replace(deep, ranked=deep.ranked[..., :10]).depth == 10
