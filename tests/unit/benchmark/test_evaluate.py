"""A saved policy on held-out queries: which queries count, and what is refused."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rl_rewriter.benchmark.comparison.figures import collection_record
from rl_rewriter.benchmark.evaluate import evaluate_checkpoint
from rl_rewriter.errors import InputError
from rl_rewriter.evaluation.comparison import compare
from rl_rewriter.policies.checkpoint import load_checkpoint, save_checkpoint
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.rewriter import RLQueryRewriter
from rl_rewriter.types import Query
from tests.forms import COLLECTION, assert_has_form
from tests.support import DOCUMENTS
from tests.unit.benchmark.comparison.conftest import policies_of
from tests.unit.benchmark.conftest import Trained


def test_held_out_queries_are_evaluated(trained: Trained) -> None:
    assert trained.evaluation.queries == trained.bench.test
    assert (trained.evaluation.protocol, trained.evaluation.n_folds) == ("split", 1)
    assert trained.evaluation.n_train == trained.checkpoint.training["n_train"]
    assert policies_of(trained.evaluation).seeds == (0,)
    assert len(policies_of(trained.evaluation).decide_ms) == len(trained.bench.test)
    assert min(policies_of(trained.evaluation).decide_ms) > 0


def test_the_single_action_was_chosen_in_training(trained: Trained) -> None:
    best = trained.checkpoint.training["best_fixed"]
    assert trained.evaluation.best_fixed == best != "keep"
    held_out = trained.evaluation.held_out
    column = held_out.action_names.index(best)
    assert held_out.of("best_fixed").tolist() == held_out.values["ndcg@10"][:, column].tolist()


def test_needs_are_tested_as_one(trained: Trained) -> None:
    groups = [query.id.partition(".")[0] for query in trained.bench.test]
    held_out = trained.evaluation.held_out
    expected = compare(held_out.of("policy"), held_out.of("keep"), groups=groups)
    assert held_out.versus("policy", "keep") == expected


def test_the_policy_under_test_does_something(trained: Trained) -> None:
    """Else these checks would pass for keep alone."""
    held_out = trained.evaluation.held_out
    assert len(set(trained.evaluation.chosen.tolist())) > 1
    assert (held_out.of("policy") != held_out.of("keep")).any()


def test_rankings_are_those_that_serving_gives(trained: Trained) -> None:
    rewriter = RLQueryRewriter(trained.bench.retriever, checkpoint=trained.checkpoint)
    outcomes, found = trained.evaluation.outcomes, trained.evaluation
    for row, query in enumerate(found.queries):
        served = rewriter.retrieve(query, k=10)
        ranked = outcomes.ranked[row, found.chosen[row]]
        assert served.ranking.ids == tuple(outcomes.documents[i] for i in ranked if i >= 0)
        assert served.decision.rewrite == found.rewrites[row]
        preference = served.decision.preferences[served.decision.action]
        assert preference == pytest.approx(policies_of(found).probability[row])


def test_the_record_has_the_published_form(trained: Trained) -> None:
    record = collection_record(trained.evaluation, {"embed": 1.0, "train": 2.0})
    assert_has_form(record, COLLECTION)
    assert record["headroom"] is None
    assert record["calibration"] == []
    assert (record["seconds"]["embed"], record["seconds"]["train"]) == (1.0, 2.0)


def test_queries_seen_in_training_are_left_out_wherever_they_stand(trained: Trained) -> None:
    seen = dataclasses.replace(trained.bench.train[0], id="another id")
    unseen = trained.bench.test[:3]
    bench = dataclasses.replace(
        trained.bench,
        test=(seen, *unseen),
        qrels={**trained.bench.qrels, seen.id: {"refund": 1.0}},
    )
    found = evaluate_checkpoint(bench, trained.checkpoint)
    assert found.queries == unseen
    assert found.notes == ("1 of 4 held-out queries left out: the policy was trained on them",)


def test_a_policy_that_has_seen_everything_cannot_be_evaluated(trained: Trained) -> None:
    bench = dataclasses.replace(trained.bench, test=trained.bench.train)
    with pytest.raises(InputError, match="was trained on all held-out queries of 'shop'"):
        evaluate_checkpoint(bench, trained.checkpoint)


def test_a_retriever_that_lacks_evidence_is_refused(trained: Trained) -> None:
    bench = dataclasses.replace(trained.bench, retriever=Bm25Retriever(DOCUMENTS))
    with pytest.raises(
        InputError, match=r"the policy looks at lexical but the bm25 retriever doesn't offer it"
    ):
        evaluate_checkpoint(bench, trained.checkpoint)


def test_held_out_queries_without_judgements_are_left_out(trained: Trained) -> None:
    bench = dataclasses.replace(trained.bench, test=(Query("who?", id="x"), *trained.bench.test))
    assert evaluate_checkpoint(bench, trained.checkpoint).queries == trained.bench.test


def test_a_saved_policy_is_evaluated_the_same(
    trained: Trained, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("saved") / "policy"
    save_checkpoint(trained.checkpoint, folder)
    again = evaluate_checkpoint(trained.bench, load_checkpoint(folder))
    before, after = trained.evaluation.held_out, again.held_out
    np.testing.assert_array_equal(after.choices["policy"], before.choices["policy"])
    assert after.versus("policy", "keep") == before.versus("policy", "keep")
    assert again.best_fixed == trained.evaluation.best_fixed


def test_a_policy_whose_best_action_is_unknown_is_refused(trained: Trained) -> None:
    training = {**trained.checkpoint.training, "best_fixed": "magic"}
    checkpoint = dataclasses.replace(trained.checkpoint, training=training)
    with pytest.raises(InputError, match="names 'magic' as its best single action"):
        evaluate_checkpoint(trained.bench, checkpoint)
