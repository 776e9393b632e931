"""A whole comparison on a small collection: what was learned where, and what follows from it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from rl_rewriter.benchmark.comparison.compare import compare_arms
from rl_rewriter.benchmark.comparison.compared import Compared
from rl_rewriter.benchmark.comparison.config import BenchmarkConfig
from rl_rewriter.benchmark.comparison.figures import collection_record
from rl_rewriter.benchmark.comparison.workers import Workers
from rl_rewriter.benchmark.workbench import Workbench
from rl_rewriter.policies.decider import Decider
from rl_rewriter.rewards.metrics import Metric
from rl_rewriter.types import Rewrite
from tests.unit.benchmark.comparison.conftest import CONFIG, policies_of


def test_every_query_is_held_out_once(compared: Compared) -> None:
    assert compared.protocol == "cv3"
    assert compared.n_folds == 3
    assert compared.n_train == 40
    assert len(compared.queries) == 60
    assert sorted(set(compared.fold.tolist())) == [0, 1, 2]
    groups = compared.bench.groups_of(compared.queries)
    fold_of = dict(zip(groups, compared.fold.tolist(), strict=True))
    assert [fold_of[group] for group in groups] == compared.fold.tolist()


def test_the_arms(compared: Compared) -> None:
    assert set(compared.held_out.choices) == {
        *compared.actions.names,
        *("random", "best_fixed", "policy", "oracle"),
    }
    assert len(compared.held_out.choices["policy"]) == 2
    assert len(compared.held_out.choices["random"]) == 2
    assert policies_of(compared).seeds == (0, 1)
    assert len(set(compared.held_out.choices["policy"].ravel().tolist())) > 1
    assert len(set(compared.held_out.choices["random"].ravel().tolist())) > 5


def test_the_best_single_action_of_a_fold_is_that_of_all_other_queries(compared: Compared) -> None:
    values = compared.held_out.values["ndcg@10"]
    for fold in range(3):
        outside = values[compared.fold != fold].mean(axis=0)
        [chosen] = set(compared.held_out.choices["best_fixed"][0, compared.fold == fold].tolist())
        assert outside[chosen] == pytest.approx(outside.max())


def test_nobody_is_above_the_oracle(compared: Compared) -> None:
    best = compared.held_out.of("oracle")
    for arm in compared.held_out.choices:
        assert (compared.held_out.of(arm) <= best + 1e-12).all()


def test_values_are_those_of_the_metrics(compared: Compared) -> None:
    outcomes, qrels = compared.outcomes, compared.bench.qrels
    for name, values in compared.held_out.values.items():
        metric = Metric.parse(name)
        for row in (0, 17, 59):
            for column in (0, 3):
                ids = [outcomes.documents[i] for i in outcomes.ranked[row, column] if i >= 0]
                expected = metric(ids, qrels[outcomes.query_ids[row]])
                assert values[row, column] == pytest.approx(expected)


def test_the_probability_is_that_of_the_first_seeds_action(compared: Compared) -> None:
    assert np.isfinite(policies_of(compared).probability).all()
    assert (policies_of(compared).probability > 1 / len(compared.actions)).all()
    assert (policies_of(compared).probability <= 1).all()


def test_the_checkpoint_decides_as_the_comparison_says(compared: Compared) -> None:
    """The policy of the first fold, on the queries of that fold, as it would be served."""
    decider = Decider(policies_of(compared).checkpoint)
    taken = set()
    for row in np.flatnonzero(compared.fold == 0):
        decision = decider.plan(compared.queries[row], compared.bench.retriever).decision
        assert decision.action == compared.actions.names[compared.chosen[row]]
        assert decision.rewrite == compared.rewrites[row]
        assert decision.preferences[decision.action] == pytest.approx(
            policies_of(compared).probability[row]
        )
        taken.add(decision.action)
    assert len(policies_of(compared).decide_ms) == 60
    assert min(policies_of(compared).decide_ms) > 0


def test_what_is_sent_follows_the_choice(compared: Compared) -> None:
    kept = compared.chosen == 0
    assert kept.any()
    assert not kept.all()
    for row in np.flatnonzero(kept):
        assert compared.rewrites[row] == Rewrite.keep(compared.queries[row])


def test_headroom_is_measured_on_the_same_folds(compared: Compared) -> None:
    room = compared.headroom
    assert room is not None
    assert room["n_queries"] == 60
    assert room["keep"] == pytest.approx(compared.held_out.of("keep").mean())
    assert room["best_fixed"]["value"] == pytest.approx(compared.held_out.of("best_fixed").mean())
    assert room["oracle"] == pytest.approx(compared.held_out.of("oracle").mean())


def test_looks_name_their_fold_and_seed(compared: Compared) -> None:
    runs = {(look["fold"], look["seed"]) for look in policies_of(compared).looks}
    assert runs == {(fold, seed) for fold in range(3) for seed in range(2)}
    assert {"update", "reward", "kl", "entropy", "loss"} <= policies_of(compared).looks[0].keys()


def comparable(compared: Compared) -> dict[str, object]:
    record = collection_record(compared)
    return {name: value for name, value in record.items() if name != "seconds"}


def test_the_number_of_workers_changes_nothing(bench: Workbench, compared: Compared) -> None:
    config = dataclasses.replace(CONFIG, workers=2)
    with Workers(2) as workers:
        found = compare_arms(bench, config, workers=workers)
    assert comparable(found) == comparable(compared)
    assert {fit: choices.tolist() for fit, choices in found.held_out.choices.items()} == {
        fit: choices.tolist() for fit, choices in compared.held_out.choices.items()
    }


def test_a_split_is_compared_on_its_held_out_queries(bench: Workbench, tmp_path: Path) -> None:
    config = dataclasses.replace(CONFIG, folds=None, seeds=1)
    found = compare_arms(bench, config, fits_dir=tmp_path)
    assert (found.protocol, found.n_folds, found.n_train) == ("split", 1, 40)
    assert found.queries == bench.test
    assert found.fold.tolist() == [0] * 20
    assert found.headroom is not None
    assert found.headroom["n_queries"] == 20
    assert found.headroom["best_fixed"]["action"] == found.best_fixed
    assert len(list(tmp_path.iterdir())) == 1


def test_without_seeds_no_policy_is_trained(bench: Workbench) -> None:
    found = compare_arms(bench, BenchmarkConfig(seeds=0))
    assert found.policies is None
    assert found.rewrites == tuple(map(Rewrite.keep, found.queries))
    record = collection_record(found)
    assert record["policy"] is None
    assert record["tests"] == {"policy_vs_keep": None, "policy_vs_best_fixed": None}
    assert record["verdict"] == "no policy was trained: actions alone are compared"
    assert "policy" not in record["arms"]


def test_too_few_needs_to_train_on_are_told(bench: Workbench) -> None:
    """Two needs: the training part of each fold is one, which leaves none to choose by."""
    groups = {query.id: str(place % 2) for place, query in enumerate([*bench.train, *bench.test])}
    few = dataclasses.replace(bench, groups=groups)
    found = compare_arms(few, dataclasses.replace(CONFIG, folds=2))
    assert found.policies is None
    assert found.notes == ("too few needs or conversations to train a policy on: none was trained",)
