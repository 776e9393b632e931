"""A saved policy on held-out queries: which queries count, and what is refused."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rl_rewriter.benchmark.evaluate import evaluate_checkpoint
from rl_rewriter.errors import InputError
from rl_rewriter.evaluation.comparison import compare
from rl_rewriter.policies.checkpoint import load_checkpoint, save_checkpoint
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.types import Query
from tests.support import DOCUMENTS
from tests.unit.benchmark.conftest import Trained


def test_held_out_queries_are_evaluated(trained: Trained) -> None:
    assert trained.evaluation.queries == trained.bench.test
    assert trained.evaluation.table.query_ids == tuple(q.id for q in trained.bench.test)
    assert len(trained.evaluation.decide_ms) == len(trained.bench.test)
    assert min(trained.evaluation.decide_ms) > 0


def test_the_single_action_was_chosen_in_training(trained: Trained) -> None:
    best = trained.checkpoint.training["best_fixed"]
    assert trained.evaluation.held_out.best_fixed_action == best != "keep"


def test_needs_are_tested_as_one(trained: Trained) -> None:
    groups = [query.id.partition(".")[0] for query in trained.bench.test]
    held_out = trained.evaluation.held_out
    assert held_out.versus_keep == compare(held_out.policy, held_out.keep, groups=groups)


def test_queries_seen_in_training_are_left_out_wherever_they_stand(trained: Trained) -> None:
    seen = dataclasses.replace(trained.bench.train[0], id="another id")
    unseen = trained.bench.test[:3]
    bench = dataclasses.replace(
        trained.bench,
        test=(seen, *unseen),
        qrels={**trained.bench.qrels, seen.id: {"refund": 1.0}},
    )
    assert evaluate_checkpoint(bench, trained.checkpoint).queries == unseen


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
    np.testing.assert_array_equal(again.held_out.chosen, trained.evaluation.held_out.chosen)
    assert again.held_out.versus_keep == trained.evaluation.held_out.versus_keep
    assert again.held_out.best_fixed_action == trained.evaluation.held_out.best_fixed_action
