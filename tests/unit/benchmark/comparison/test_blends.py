"""A comparison whose policies learned blends: one column a seed, which no other arm may see."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from rl_rewriter.actions.feedback import FuseWithBm25
from rl_rewriter.actions.keep import Keep
from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.benchmark.comparison.blends import serve_blends
from rl_rewriter.benchmark.comparison.choosing import fit_tasks
from rl_rewriter.benchmark.comparison.compare import compare_arms
from rl_rewriter.benchmark.comparison.compared import Compared
from rl_rewriter.benchmark.comparison.figures import collection_record
from rl_rewriter.benchmark.comparison.files import write_collection
from rl_rewriter.benchmark.comparison.fits import fit_all
from rl_rewriter.benchmark.comparison.searched import Searched, search
from rl_rewriter.benchmark.evaluate import evaluate_checkpoint
from rl_rewriter.benchmark.workbench import Workbench
from rl_rewriter.policies.decider import Decider
from rl_rewriter.training.ladder.config import LadderConfig
from tests.unit.benchmark.comparison.conftest import CONFIG, policies_of
from tests.unit.benchmark.comparison.test_fits import Counting
from tests.unit.training.blend.parts import SAME_FOR_ALL

EASY = LadderConfig(folds=2, single=1000.0, same_for_all=0.0)
"""Takes a blend wherever it is above keep at all."""
BLENDED = dataclasses.replace(
    CONFIG,
    folds=2,
    seeds=2,
    fit=dataclasses.replace(
        CONFIG.fit, ladder=EASY, blend=dataclasses.replace(SAME_FOR_ALL, texts=True)
    ),
)


@pytest.fixture(scope="module")
def small(bench: Workbench) -> Workbench:
    """The shop with two single actions, neither of which does what a blend does."""
    return dataclasses.replace(bench, actions=ActionSpace((Keep(), FuseWithBm25(0.1))))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("blended") / "fits"


@pytest.fixture(scope="module")
def blended(small: Workbench, folder: Path) -> Compared:
    return compare_arms(small, BLENDED, fits_dir=folder)


@pytest.fixture(scope="module")
def searched(small: Workbench) -> Searched:
    return search(small, BLENDED)


def test_each_seed_has_a_column_of_its_own(blended: Compared) -> None:
    assert blended.actions.names == ("keep", "fuse_bm25@0.1", "blend", "blend~1")
    assert blended.outcomes.action_names == blended.actions.names
    choices = blended.held_out.choices["policy"]
    names = np.asarray(blended.actions.names)
    assert set(names[choices[0]]) <= {"keep", "fuse_bm25@0.1", "blend"}
    assert set(names[choices[1]]) <= {"keep", "fuse_bm25@0.1", "blend~1"}
    assert "blend" in names[choices[0]]
    assert "blend~1" in names[choices[1]]


def test_no_other_arm_sees_a_blend(blended: Compared) -> None:
    arms = blended.held_out.choices
    assert set(arms) == {"keep", "fuse_bm25@0.1", "random", "best_fixed", "policy", "oracle"}
    for arm in set(arms) - {"policy"}:
        assert (arms[arm] < 2).all()
    single = blended.held_out.values["ndcg@10"][:, :2]
    np.testing.assert_array_equal(blended.held_out.of("oracle"), single.max(axis=1))
    for fold in range(2):
        [chosen] = set(arms["best_fixed"][0, blended.fold == fold].tolist())
        outside = single[blended.fold != fold].mean(axis=0)
        assert outside[chosen] == pytest.approx(outside.max())


def test_a_query_is_searched_by_the_blend_that_has_not_seen_it(blended: Compared) -> None:
    """The policy of the first fold, on the queries of that fold, as it would be served."""
    checkpoint = policies_of(blended).checkpoint
    assert [blend.name for blend in checkpoint.blends] == ["blend"]
    decider = Decider(checkpoint)
    column = blended.actions.index("blend")
    for row in np.flatnonzero(blended.fold == 0)[:8]:
        query = blended.queries[row]
        decision = decider.plan(query, blended.bench.retriever).decision
        assert decision.action == blended.actions.names[blended.chosen[row]] == "blend"
        sent = blended.rewrites[row]
        assert decision.rewrite.lexical_texts == sent.lexical_texts
        assert decision.rewrite.lexical_weight == pytest.approx(sent.lexical_weight, abs=1e-5)
        [found] = blended.bench.retriever.search([decision.rewrite], k=10)
        places = blended.outcomes.ranked[row, column][:10]
        assert found.ids == tuple(blended.outcomes.documents[place] for place in places)


def test_where_a_query_was_learned_from_a_blend_is_masked(searched: Searched) -> None:
    fits = fit_all(fit_tasks(searched, dataclasses.replace(BLENDED, seeds=1)), None)
    served = serve_blends(searched, fits[:1])
    [inside] = [searched.division.rows(fits[0].fold)[1]]
    mask = served.outcomes.mask[:, -1]
    assert set(np.flatnonzero(mask).tolist()) == set(inside.tolist())


def test_fits_are_taken_up_with_their_blends(
    searched: Searched, blended: Compared, folder: Path
) -> None:
    assert blended.n_folds == 2
    counting = Counting()
    tasks = fit_tasks(searched, BLENDED)
    before, after = fit_all(tasks, None), fit_all(tasks, folder, on_progress=counting)
    assert counting.trained == 0
    for one, other in zip(before, after, strict=True):
        assert one.blend is not None
        assert other.blend is not None
        assert other.blend.head.version == one.blend.head.version
        assert other.action_names == one.action_names == ("keep", "fuse_bm25@0.1", "blend")
        assert other.policy.version == one.policy.version


def test_other_pools_or_settings_are_another_fit(searched: Searched) -> None:
    [task, *_] = fit_tasks(searched, BLENDED)
    assert task.pools is not None
    other = dataclasses.replace(task.pools, scores=task.pools.scores + np.float32(1e-3))
    assert dataclasses.replace(task, pools=other).key != task.key
    assert dataclasses.replace(task, pools=None).key != task.key
    limited = dataclasses.replace(EASY, hurt_limit=0.1)
    config = dataclasses.replace(task.config, ladder=limited)
    assert dataclasses.replace(task, config=config).key != task.key


def test_without_blends_nothing_is_added(searched: Searched) -> None:
    served = serve_blends(searched, [])
    assert served.outcomes is searched.outcomes
    assert served.table(searched) is searched.table
    assert served.actions_of(0, searched.actions).names == searched.actions.names


def test_it_is_written_and_read_in_a_report(blended: Compared, tmp_path: Path) -> None:
    record = collection_record(blended)
    json.dumps(record, allow_nan=False)
    text = json.dumps(record)
    assert "blend~1" not in text
    write_collection(tmp_path / "shop.tfidf", blended, record)
    assert (tmp_path / "shop.tfidf").is_dir()


def test_a_saved_policy_with_a_blend_is_evaluated(blended: Compared) -> None:
    """As one more action, which neither chance nor hindsight may take."""
    checkpoint = dataclasses.replace(
        policies_of(blended).checkpoint, training={"best_fixed": "fuse_bm25@0.1"}
    )
    found = evaluate_checkpoint(blended.bench, checkpoint)
    assert found.actions.names == ("keep", "fuse_bm25@0.1", "blend")
    arms = found.held_out.choices
    assert "blend" in arms
    assert (arms["oracle"] < 2).all()
    assert (arms["random"] < 2).all()
    assert (arms["policy"] == 2).any()
