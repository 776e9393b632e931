"""From judged queries to a policy: what is refused, in one sentence each, and what is reported."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rl_rewriter.errors import CollectionError, InputError, RewriterError
from rl_rewriter.retrieval.text_only import TextOnly
from rl_rewriter.retrieval.tfidf import TfidfRetriever
from rl_rewriter.rewriter import RLQueryRewriter
from rl_rewriter.training.blend.config import BlendConfig
from rl_rewriter.training.config import FitConfig, ReinforceConfig
from rl_rewriter.training.report import FEW_QUERIES, FitReport, fit_warnings
from rl_rewriter.training.splits import query_fingerprint
from rl_rewriter.types import Query, Turn
from tests.support import DOCUMENTS, TokenEmbedder, chroma_collection

QUICK = FitConfig(reinforce=ReinforceConfig(updates=2, evaluate_every=1))
PLAIN = replace(QUICK, ladder=None)
QUERIES = [Query(f"please tell me about {id_}", id=id_) for id_ in DOCUMENTS]
QRELS = {id_: {id_: 1.0} for id_ in DOCUMENTS}


def fit(queries: Sequence[Query] = QUERIES, **changes: Any) -> FitReport:
    rewriter = RLQueryRewriter.from_retriever(TfidfRetriever(DOCUMENTS))
    settings: dict[str, Any] = {"qrels": QRELS, "config": QUICK, **changes}
    return rewriter.fit(queries, **settings)


def one_sentence(error: RewriterError) -> str:
    text = str(error)
    assert "\n" not in text
    assert 20 < len(text) < 250
    return text


@pytest.mark.parametrize("qrels", [{}, {"else": {"refund": 1.0}}, {"refund": {"refund": 0.0}}])
def test_queries_without_judgements_are_refused(qrels: dict[str, dict[str, float]]) -> None:
    with pytest.raises(InputError) as caught:
        fit(qrels=qrels)
    assert one_sentence(caught.value) == (
        "none of the 12 queries has a relevant document in the judgements; "
        "check that query ids agree"
    )


def test_judgements_of_documents_that_are_not_there_are_refused() -> None:
    qrels = QRELS | {"refund": {"refund": 1.0, "lost": 1.0, "gone": 2.0}}
    with pytest.raises(InputError) as caught:
        fit(qrels=qrels)
    assert one_sentence(caught.value) == (
        "judgements name 2 documents that the collection doesn't hold, such as 'gone'; "
        "add them or leave these judgements out"
    )


def test_judgements_that_do_not_count_may_name_anything() -> None:
    fit(qrels=QRELS | {"refund": {"refund": 1.0, "lost": 0.0}, "nobody asked": {"lost": 1.0}})


@pytest.mark.parametrize("ids", [["a", "a", "b"], ["a", "", "b"]])
def test_ids_that_are_missing_or_stand_twice_are_refused(ids: list[str]) -> None:
    queries = [Query(f"text {n}", id=id_) for n, id_ in enumerate(ids)]
    with pytest.raises(InputError) as caught:
        fit(queries, qrels={id_: {"refund": 1.0} for id_ in ids})
    assert one_sentence(caught.value) == (
        "every query to train on needs an id of its own: Query(text, id=...)"
    )


def test_an_empty_collection_is_refused(tmp_path: Path) -> None:
    rewriter = RLQueryRewriter.from_chroma(
        chroma_collection({}), TokenEmbedder(), cache_dir=tmp_path
    )
    with pytest.raises(CollectionError, match="holds no documents") as caught:
        rewriter.fit(QUERIES, QRELS, config=QUICK)
    one_sentence(caught.value)


def test_a_retriever_that_cannot_be_searched_is_refused() -> None:
    with pytest.raises(CollectionError) as caught:
        RLQueryRewriter.from_retriever(TextOnly()).fit(QUERIES, QRELS, config=QUICK)
    one_sentence(caught.value)


def test_a_rewriter_without_a_retriever_cannot_train() -> None:
    with pytest.raises(InputError, match="this rewriter has no retriever") as caught:
        RLQueryRewriter().fit(QUERIES, QRELS, config=QUICK)
    one_sentence(caught.value)


def test_too_few_groups_are_refused() -> None:
    with pytest.raises(InputError) as caught:
        fit(groups=["one"] * len(QUERIES))
    assert one_sentence(caught.value) == (
        "at least two needs or conversations are needed to hold some queries out, "
        "got 1 for 12 queries"
    )
    with pytest.raises(InputError, match="got 1 for 1 queries"):
        fit(QUERIES[:1])


def test_one_conversation_is_one_group() -> None:
    opening = Query("where is it?", id="0")
    later = [Query(f"and {n}?", history=(Turn("user", "where is it?"),), id=str(n)) for n in (1, 2)]
    with pytest.raises(InputError, match="got 1 for 3 queries"):
        fit([opening, *later], qrels={str(n): {"refund": 1.0} for n in range(3)})


def test_groups_must_be_one_a_query() -> None:
    with pytest.raises(InputError) as caught:
        fit(groups=["a", "b"])
    assert one_sentence(caught.value) == "got 2 groups for 12 queries"


def test_a_fit_that_fails_leaves_the_policy_in_use() -> None:
    rewriter = RLQueryRewriter.from_retriever(TfidfRetriever(DOCUMENTS))
    rewriter.fit(QUERIES, QRELS, config=QUICK)
    version = rewriter.policy_version
    with pytest.raises(InputError):
        rewriter.fit(QUERIES, {}, config=QUICK)
    assert rewriter.policy_version == version != "untrained"


def test_queries_may_be_given_as_texts_by_id() -> None:
    rewriter = RLQueryRewriter.from_retriever(TfidfRetriever(DOCUMENTS))
    found = rewriter.fit({query.id: query.text for query in QUERIES}, QRELS, config=QUICK).table
    expected = fit().table
    assert found.query_ids == expected.query_ids
    np.testing.assert_array_equal(found.states, expected.states)
    np.testing.assert_array_equal(found.rewards, expected.rewards)


def test_the_report_says_what_was_done() -> None:
    rewriter = RLQueryRewriter.from_retriever(TfidfRetriever(DOCUMENTS))
    unjudged = Query("nobody judged this", id="unjudged")
    report = rewriter.fit([*QUERIES, unjudged], QRELS, config=PLAIN)

    assert report.policy_version == rewriter.policy_version
    assert report.episodes == PLAIN.reinforce.episodes
    assert report.n_train == 10
    assert report.table.query_ids == tuple(query.id for query in QUERIES)
    assert set(report.seconds) == {"statistics", "reward_table", "train"}
    assert set(report.validation) == {"keep", "best_fixed", "policy"}
    assert set(report.seen) == {query_fingerprint(query) for query in QUERIES}
    means = dict(zip(report.table.action_names, report.table.values.mean(axis=0), strict=True))
    assert means[report.best_fixed] == max(means.values())
    assert rewriter.checkpoint is not None
    assert rewriter.checkpoint.training["best_fixed"] == report.best_fixed


def test_states_are_standardised_over_the_training_queries_alone() -> None:
    states = fit(config=PLAIN).table.states
    centred = [
        rows
        for rows in combinations(range(len(states)), 10)
        if np.abs(states[list(rows)].mean(axis=0)).max() < 1e-4
    ]
    assert len(centred) == 1  # the ten training queries
    assert np.abs(states.mean(axis=0)).max() > 0.01
    np.testing.assert_allclose(np.unique(states[list(centred[0])].std(axis=0).round(3)), [0, 1])


def test_progress_is_told_by_stage() -> None:
    told: list[tuple[str, int, int]] = []
    of_texts = replace(QUICK, blend=BlendConfig(texts=True))
    fit(config=of_texts, on_progress=lambda *args: told.append(args))
    blend = [("learning a blend", 0, 1), ("learning a blend", 1, 1)]
    assert told == [("reward table", 12, 12), *blend]  # too few queries to choose by query
    told.clear()
    fit(config=PLAIN, on_progress=lambda *args: told.append(args))
    assert told == [("reward table", 12, 12), ("training", 1, 2), ("training", 2, 2)]


def test_warnings_name_what_a_reader_should_know() -> None:
    values = {"keep": 0.5, "best_fixed": 0.6, "policy": 0.7}
    assert fit_warnings(FEW_QUERIES, values) == ()
    [few] = fit_warnings(FEW_QUERIES - 1, values)
    assert few.startswith("only 99 training queries")
    [no_gain] = fit_warnings(FEW_QUERIES, values | {"policy": 0.5})
    assert no_gain == "the policy is not above keep on the validation queries"
    [below] = fit_warnings(FEW_QUERIES, values | {"policy": 0.55})
    assert below == "the policy is below the best single action on the validation queries"


WITHOUT_TORCH = """
from tests.hiding import hide

hide("torch")

from tests.support import DOCUMENTS
from rl_rewriter import RLQueryRewriter
from rl_rewriter.errors import MissingExtraError
from rl_rewriter.retrieval.in_memory import Bm25Retriever

rewriter = RLQueryRewriter.from_retriever(Bm25Retriever(DOCUMENTS))
try:
    rewriter.fit(dict.fromkeys(DOCUMENTS, "text"), {id_: {id_: 1} for id_ in DOCUMENTS})
except MissingExtraError as error:
    print(error)
print(rewriter.decide("how do I get my money back?").reason)
"""


def test_without_torch_training_says_what_to_install_and_serving_goes_on() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.splitlines() == [
        'torch is not installed; run: pip install "rl-rewriter[train]"',
        "untrained",
    ], done.stderr
