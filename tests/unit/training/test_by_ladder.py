"""Does a fit take a blend where that pays, and what is simpler where it doesn't?"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest

from rl_rewriter.actions.blend import LearnedBlend
from rl_rewriter.actions.feedback import FuseWithBm25
from rl_rewriter.actions.keep import Keep
from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.actions.words import Keywords
from rl_rewriter.envs.table import RewardTable
from rl_rewriter.errors import InputError, TrainingError
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.retrieval.protocols import Retriever
from rl_rewriter.retrieval.text_only import TextOnly
from rl_rewriter.rewards.metrics import Metric
from rl_rewriter.rewards.reward import RewardConfig
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.training.blend.pools import Pools
from rl_rewriter.training.blend_material import pools_of
from rl_rewriter.training.by_ladder import fit_by_ladder, with_column
from rl_rewriter.training.config import FitConfig, ReinforceConfig
from rl_rewriter.training.fit import fit_policy
from rl_rewriter.training.report import FitReport
from rl_rewriter.types import Filters, Query, Turn
from tests.support import Shout, TokenEmbedder, chroma_collection
from tests.tables import identity_task, two_signs_task
from tests.unit.benchmark.comparison.conftest import features
from tests.unit.training.blend.parts import LADDER, SAME_FOR_ALL, world

QUICK = FitConfig(
    reinforce=ReinforceConfig(updates=4, evaluate_every=2, warm_up=1),
    ladder=LADDER,
    blend=SAME_FOR_ALL,
)
SINGLE = ActionSpace((Keep(), Keywords()))
N = 40


def corpus(n_words: int = 6) -> tuple[dict[str, str], list[Query], dict[str, dict[str, float]]]:
    """Documents of words of their own and of others', and questions by two words of their own."""
    rng = np.random.default_rng(0)
    documents, queries, qrels = {}, [], {}
    for number in range(N):
        name = f"d{number:02}"
        own = [f"w{number}x{part}" for part in range(n_words)]
        others = [f"w{rng.integers(N)}x{rng.integers(n_words)}" for _ in range(10)]
        documents[name] = " ".join([*own, *others])
        queries.append(Query(f"{own[0]} {own[1]} what about the other", id=f"q{number}"))
        qrels[f"q{number}"] = {name: 1.0}
    return documents, queries, qrels


DOCUMENTS, QUERIES, QRELS = corpus()


@pytest.fixture(scope="module")
def retriever(tmp_path_factory: pytest.TempPathFactory) -> Retriever:
    """Few directions for many words: vectors alone find little, words find all."""
    embedder = TokenEmbedder(6)
    return chroma_retriever(
        chroma_collection(DOCUMENTS, embedder),
        embedder,
        cache_dir=tmp_path_factory.mktemp("bm25"),
    )


def fit(retriever: Retriever, **changes: Any) -> tuple[Checkpoint, FitReport]:
    settings: dict[str, Any] = {"actions": SINGLE, "config": QUICK, **changes}
    queries = settings.pop("queries", QUERIES)
    return fit_policy(queries, settings.pop("qrels", QRELS), retriever, **settings)


def served(checkpoint: Checkpoint) -> str:
    """What the policy takes where it knows nothing."""
    columns = len(checkpoint.features.columns)
    mask = np.ones((1, len(checkpoint.actions)), dtype=np.bool_)
    distribution = checkpoint.policy.distribution(np.zeros((1, columns), dtype=np.float32), mask)
    return checkpoint.actions.names[int(distribution.greedy()[0])]


def test_a_blend_stands_where_it_pays(retriever: Retriever) -> None:
    checkpoint, report = fit(retriever)
    assert report.ladder is not None
    assert report.ladder.rung == "same_for_all"
    assert checkpoint.actions.names == ("keep", "keywords", "blend")
    assert served(checkpoint) == "blend"
    assert report.policy_version == checkpoint.version
    assert (report.n_train, report.episodes) == (N, 0)
    assert report.validation["policy"] > report.validation["best_fixed"] + 0.1
    [blend] = checkpoint.blends
    weights = blend.head.weights(blend.head.mean[None], np.ones((1, len(blend.views))) > 0)[0]
    assert weights[[view.kind == "lexical" for view in blend.views]].sum() > 0.3


def test_its_column_holds_values_of_queries_that_it_was_not_fitted_on(
    retriever: Retriever,
) -> None:
    _, report = fit(retriever)
    assert report.ladder is not None
    table = report.table
    assert table.action_names[-1] == "blend"
    assert table.mask[:, -1].all()
    assert table.values[:, -1].mean() == pytest.approx(report.ladder.values["same_for_all"])
    np.testing.assert_allclose(table.rewards[:, -1], table.values[:, -1] - table.values[:, 0])
    assert report.best_fixed in SINGLE.names


def test_what_is_served_is_worth_what_was_promised(retriever: Retriever) -> None:
    """Fitted to all queries, it is carried out on all of them: about the cross-fitted value."""
    from rl_rewriter.envs.retrieval import carry_out

    checkpoint, report = fit(retriever)
    found = carry_out(
        QUERIES,
        retriever,
        checkpoint.statistics,
        ActionSpace((Keep(), *checkpoint.blends)),
        checkpoint.features,
        depth=10,
    )
    values = Metric("ndcg", 10).values(found.judged(QRELS))
    assert report.ladder is not None
    assert values[:, 0].mean() == pytest.approx(report.ladder.values["keep"])
    assert values[:, 1].mean() == pytest.approx(report.ladder.served_value, abs=0.08)


def test_keep_stands_where_nothing_is_missing(tmp_path_factory: pytest.TempPathFactory) -> None:
    exact = [replace(query, text=DOCUMENTS[f"d{row:02}"]) for row, query in enumerate(QUERIES)]
    retriever = chroma_retriever(
        chroma_collection(DOCUMENTS), TokenEmbedder(), cache_dir=tmp_path_factory.mktemp("bm25")
    )
    checkpoint, report = fit(retriever, queries=exact)
    assert report.ladder is not None
    assert report.ladder.rung == "keep"
    assert checkpoint.blends == ()
    assert served(checkpoint) == "keep"
    assert report.table.action_names == SINGLE.names


def test_with_few_queries_the_best_single_action_stands(retriever: Retriever) -> None:
    space = ActionSpace((Keep(), Keywords(), FuseWithBm25(0.6)))
    checkpoint, report = fit(retriever, queries=QUERIES[:20], actions=space)
    assert report.ladder is not None
    assert report.ladder.rung == "single"
    assert served(checkpoint) == "fuse_bm25@0.6"
    assert checkpoint.actions.names == space.names
    assert any("a blend takes at least 25" in message for message in report.ladder.messages)


def test_no_blend_is_learned_where_none_is_asked_for(retriever: Retriever) -> None:
    checkpoint, report = fit(retriever, config=replace(QUICK, blend=None))
    assert report.ladder is not None
    assert set(report.ladder.values) == {"keep", "single"}
    assert checkpoint.actions.names == SINGLE.names


def test_a_policy_is_trained_in_any_case_where_that_is_asked_for(retriever: Retriever) -> None:
    checkpoint, report = fit(retriever, config=replace(QUICK, ladder=None))
    assert report.ladder is None
    assert report.episodes == 4 * 128 * 8
    assert checkpoint.actions.names == SINGLE.names


def test_no_blend_is_learned_where_none_can_be_searched() -> None:
    statistics = CollectionStatistics.from_texts(DOCUMENTS.values())
    assert pools_of(QUERIES, TextOnly(), statistics, QRELS, QUICK) is None


def test_words_alone_are_blended_as_texts() -> None:
    """Without vectors a blend mixes texts: that of the first documents and the conversation."""
    retriever = Bm25Retriever(DOCUMENTS)
    assert pools_of(QUERIES, retriever, retriever.statistics(), QRELS, QUICK) is None
    assert QUICK.blend is not None
    config = replace(QUICK, blend=replace(QUICK.blend, texts=True))
    pools = pools_of(QUERIES, retriever, retriever.statistics(), QRELS, config)
    assert pools is not None
    assert pools.views == ("query", "expanded")
    checkpoint, report = fit(retriever, config=config)
    assert report.ladder is not None
    assert {name for blend in checkpoint.blends for name in blend.head.views} <= {*pools.views}


def test_views_that_no_query_has_are_no_views(retriever: Retriever) -> None:
    statistics = CollectionStatistics.from_texts(DOCUMENTS.values())
    alone = pools_of(QUERIES[:2], retriever, statistics, QRELS, QUICK)
    assert alone is not None
    assert not {"history_in_front", "last_answer", "words_of_history", "words_of_history_alike"} & {
        *alone.views
    }
    talk = replace(QUERIES[0], history=(Turn("user", "w1x1"),))
    both = pools_of([talk, *QUERIES[1:2]], retriever, statistics, QRELS, QUICK)
    assert both is not None
    assert {*both.views} - {*alone.views} == {
        "history_in_front",
        "words_of_history",
        "words_of_history_alike",
    }
    row = both.views.index("history_in_front")
    assert both.present[:, row].tolist() == [True, False]


@pytest.mark.parametrize("kind", ["chroma", "bm25"])
def test_queries_that_find_nothing_are_no_obstacle(retriever: Retriever, kind: str) -> None:
    searched = retriever if kind == "chroma" else Bm25Retriever(DOCUMENTS)
    lost = (
        replace(QUERIES[0], filters=Filters({"tenant": "nobody"}))
        if kind == "chroma"
        else replace(QUERIES[0], text="zzz yyy")
    )
    checkpoint, report = fit(searched, queries=[lost, *QUERIES[1:]])
    assert report.table.query_ids[0] == "q0"
    assert not report.table.values[0].any()
    assert np.isfinite(report.table.values).all()
    for blend in checkpoint.blends:
        assert np.isfinite(blend.head.bias).all()


def test_a_blend_is_learned_anew_and_not_beside_an_older_one(retriever: Retriever) -> None:
    before, _ = fit(retriever)
    again, _ = fit(retriever, actions=before.actions)
    assert again.actions.names == before.actions.names
    assert again.version == before.version


def test_its_name_is_taken(retriever: Retriever) -> None:
    own = SINGLE.extended([Shout(name="blend")])
    with pytest.raises(InputError, match="'blend' is the name of the learned blend") as caught:
        fit(retriever, actions=own)
    assert "\n" not in str(caught.value)
    checkpoint, _ = fit(retriever, actions=own, config=replace(QUICK, blend=None))
    assert "blend" in checkpoint.actions.names


def without_gains(n: int) -> Pools:
    """Pools of queries whose relevant documents no view finds: no blend is worth anything."""
    rng = np.random.default_rng(0)
    return Pools(
        views=("query", "words"),
        is_lexical=np.asarray([False, True]),
        scores=rng.standard_normal((n, 5, 2)).astype(np.float32),
        mask=np.ones((n, 5), dtype=np.bool_),
        gains=np.zeros((n, 5), dtype=np.float32),
        ideal=np.ones((n, 1)),
        n_relevant=np.ones(n),
        present=np.ones((n, 2), dtype=np.bool_),
        floors=np.full((n, 2), -5.0, dtype=np.float32),
        documents=tuple("abcde"),
        candidates=np.tile(np.arange(5, dtype=np.int32), (n, 1)),
    )


@pytest.mark.parametrize("updates", [2, 400])
def test_a_policy_over_single_actions_is_taken_where_it_is_clearly_better(updates: int) -> None:
    """Where no linear choice is: which action is best, the signs of two numbers tell together."""
    table = two_signs_task(240)
    config = replace(
        QUICK,
        reinforce=ReinforceConfig(
            updates=updates, evaluate_every=max(1, updates // 10), warm_up=1, learning_rate=0.02
        ),
    )
    groups = [f"g{row}" for row in range(len(table))]
    found = fit_by_ladder(
        table, features(table.states.shape[1]), without_gains(len(table)), groups, config
    )
    assert found.blend is None
    assert found.is_policy is (updates > 2)
    assert found.report.rung == "single"
    assert found.report.messages[-2].startswith("a choice by query around it not taken over single")
    distribution = found.fitted.outcome.policy.distribution(
        found.fitted.table.states, found.fitted.table.mask
    )
    taken = set(distribution.greedy().tolist())
    told = found.report.messages[-1]
    if updates == 2:
        assert len(taken) == 1
        assert told.startswith("a policy that chooses actions by query not taken over")
    else:
        assert taken >= {1, 2}
        assert told.startswith("a policy that chooses actions by query taken over")


def test_a_linear_choice_is_taken_where_it_is_clearly_better() -> None:
    table = identity_task(120, 3)
    groups = [f"g{row}" for row in range(len(table))]
    found = fit_by_ladder(table, features(3), without_gains(len(table)), groups, QUICK)
    assert not found.is_policy
    assert found.report.rung in ("keep", "single")
    assert found.report.messages[-1].startswith("a choice by query around it taken over")
    outcome, scaled = found.fitted.outcome, found.fitted.table
    chosen = outcome.policy.distribution(scaled.states, scaled.mask).greedy()
    assert set(chosen.tolist()) == {0, 1, 2}
    values = scaled.values[np.arange(len(table)), chosen]
    assert outcome.validation["policy"] > outcome.validation["best_fixed"] + 0.1
    assert values.mean() > outcome.validation["best_fixed"] + 0.1


def test_no_choice_is_taken_where_states_tell_nothing() -> None:
    table = identity_task(120, 3)
    shuffled = np.random.default_rng(1).permutation(len(table))
    table = replace(table, states=table.states[shuffled])
    groups = [f"g{row}" for row in range(len(table))]
    found = fit_by_ladder(table, features(3), without_gains(len(table)), groups, QUICK)
    assert "choice by query around it not taken" in found.report.messages[-2]
    chosen = found.fitted.outcome.policy.distribution(
        found.fitted.table.states, found.fitted.table.mask
    ).greedy()
    assert len(set(chosen.tolist())) == 1


def test_a_policy_may_choose_beside_a_blend() -> None:
    """The best action of each query is worth 1, which a blend that stands doesn't reach."""
    table, of_blend = two_signs_task(240), world(240, help_of_views=1.7)
    config = replace(
        QUICK,
        reinforce=ReinforceConfig(updates=400, evaluate_every=40, warm_up=1, learning_rate=0.02),
    )
    state = features(table.states.shape[1])
    found = fit_by_ladder(table, state, of_blend.pools, of_blend.groups, config)
    assert found.report.rung == "same_for_all"
    assert found.blend is not None
    assert found.is_policy
    scaled = found.fitted.table
    assert scaled.action_names == ("keep", "a1", "a2", "blend")
    chosen = found.fitted.outcome.policy.distribution(scaled.states, scaled.mask).greedy()
    values = scaled.values[np.arange(240), chosen].mean()
    assert values > found.report.values["same_for_all"] + 0.1
    assert found.report.served_value == pytest.approx(values, abs=0.05)
    few = replace(config, reinforce=ReinforceConfig(updates=2, evaluate_every=1))
    found = fit_by_ladder(table, state, of_blend.pools, of_blend.groups, few)
    assert not found.is_policy
    scaled = found.fitted.table
    chosen = found.fitted.outcome.policy.distribution(scaled.states, scaled.mask).greedy()
    assert set(chosen.tolist()) == {3}


def test_a_policy_that_hurts_more_than_allowed_is_not_taken() -> None:
    table = identity_task(120, 3)
    config = replace(
        QUICK,
        ladder=replace(LADDER, hurt_limit=0.0),
        reinforce=ReinforceConfig(updates=60, evaluate_every=20, warm_up=1, learning_rate=0.02),
    )
    groups = [f"g{row}" for row in range(len(table))]
    found = fit_by_ladder(
        table, features(table.states.shape[1]), without_gains(len(table)), groups, config
    )
    assert found.report.rung == "keep"
    assert found.report.served_hurt == 0.0


def test_the_column_of_a_blend_that_is_held_back_holds_what_is_served() -> None:
    drawn = world(200, help_of_query=2.0)
    rewards = drawn.single_values - drawn.single_values[:, :1]
    names = ("keep", "a1", "a2", "a3")
    states = np.asarray(drawn.states, dtype=np.float32)
    table = replace(
        identity_task(200, 4),
        action_names=names,
        states=states,
        values=drawn.single_values,
        rewards=rewards,
    )
    free = fit_by_ladder(table, features(2), drawn.pools, drawn.groups, QUICK)
    limited = replace(LADDER, hurt_limit=free.report.served_hurt / 2)
    found = fit_by_ladder(
        table, features(2), drawn.pools, drawn.groups, replace(QUICK, ladder=limited)
    )
    assert found.blend is not None
    assert found.blend.head.strength < 1.0
    column = found.fitted.table.values[:, -1]
    assert column.mean() == pytest.approx(found.report.served_value)
    assert (column < drawn.single_values[:, 0] - 1e-9).mean() == found.report.served_hurt


@pytest.mark.parametrize("price", [0.02, 0.4])
def test_a_blend_pays_what_the_reward_says(price: float) -> None:
    drawn = world(200)
    table = identity_task(200, 3)
    table = replace(table, values=np.tile(drawn.single_values[:, :1], 3), rewards=0 * table.rewards)
    priced = replace(QUICK, reward=RewardConfig(rewrite_cost=price / 2, search_cost=price / 4))
    state = features(table.states.shape[1])
    free = fit_by_ladder(table, state, drawn.pools, drawn.groups, QUICK)
    found = fit_by_ladder(table, state, drawn.pools, drawn.groups, priced)
    if price > 0.1:  # more than it gains
        assert (found.blend, found.report.rung) == (None, "keep")
        return
    assert found.report.served_value == pytest.approx(free.report.served_value - price)
    priced_table, free_table = found.fitted.table, free.fitted.table
    np.testing.assert_allclose(priced_table.values, free_table.values)
    np.testing.assert_allclose(priced_table.rewards[:, -1], free_table.rewards[:, -1] - price)


def test_a_limit_that_nothing_holds_to_is_told(retriever: Retriever) -> None:
    limited = replace(QUICK, ladder=replace(LADDER, hurt_limit=0.05))
    checkpoint, report = fit(retriever, config=limited)
    assert not any("limit" in warning for warning in report.warnings)
    _, report = fit(retriever, config=limited, actions=None, reference=checkpoint)
    assert any("the limit of 5% of the queries" in warning for warning in report.warnings)


@pytest.mark.parametrize("prior", [None, "shipped"])
def test_a_prior_without_a_blend_to_start_is_told(prior: Literal["shipped"] | None) -> None:
    asked = replace(QUICK, blend=replace(SAME_FOR_ALL, prior=prior))
    _, report = fit(Bm25Retriever(DOCUMENTS), config=asked)
    assert any("the prior had nothing" in one for one in report.warnings) is bool(prior)


def shown_by_number(better: int, worse: int, of: int) -> RewardTable:
    """Another action that some queries are better by and some worse, whatever their states say."""
    table = identity_task(of, 2)
    gains = np.zeros(of)
    gains[:better], gains[better : better + worse] = 0.5, -0.1
    values = np.stack([np.full(of, 0.4), 0.4 + gains], axis=1)
    rewards = values - values[:, :1]
    return replace(
        table, states=np.zeros_like(table.states), values=values, rewards=rewards
    ).subset(np.random.default_rng(0).permutation(of))


@pytest.mark.parametrize(("better", "stands"), [(0, "keep"), (100, "single")])
def test_without_views_the_best_single_action_has_to_be_clearly_better(
    better: int, stands: str
) -> None:
    table = shown_by_number(better, 20, 200)
    groups = [f"g{row}" for row in range(len(table))]
    found = fit_by_ladder(table, features(table.states.shape[1]), None, groups, QUICK)
    assert (found.report.rung, found.blend, found.is_policy) == (stands, None, False)
    policy = found.fitted.outcome.policy
    chosen = policy.distribution(found.fitted.table.states, table.mask).greedy()
    assert set(chosen.tolist()) == {int(stands == "single")}


@pytest.mark.parametrize(("worse", "stands"), [(2, "single"), (20, "keep")])
def test_without_views_a_limit_holds_single_actions_back(worse: int, stands: str) -> None:
    table = shown_by_number(100, worse, 200)
    groups = [f"g{row}" for row in range(len(table))]
    config = replace(QUICK, ladder=replace(LADDER, hurt_limit=0.06), blend=None)
    found = fit_by_ladder(table, features(table.states.shape[1]), None, groups, config)
    assert found.report.rung == stands
    assert found.report.on_limit.startswith("at most 6% of the queries may fall below keep")
    assert ("best single action hurts 10.0%" in found.report.on_limit) is (stands == "keep")
    assert found.report.served_hurt == (worse / 200 if stands == "single" else 0.0)


def told_by_state(misled: int, of: int = 600) -> RewardTable:
    """Another action that half of the queries are better by; the state says who, or misleads."""
    table = identity_task(of, 2)
    gains = np.where(np.arange(of) % 2, 0.3, -0.3)
    values = np.stack([np.full(of, 0.4), 0.4 + gains], axis=1)
    states = np.zeros_like(table.states)
    states[:, 0] = np.where(np.arange(of) < misled, -np.sign(gains), np.sign(gains))
    return replace(table, states=states, values=values, rewards=values - values[:, :1])


@pytest.mark.parametrize(("misled", "chooses"), [(0, True), (120, False)])
def test_a_choice_is_told_with_what_became_of_the_limit(misled: int, chooses: bool) -> None:
    table = told_by_state(misled)
    groups = [f"g{row}" for row in range(len(table))]
    config = replace(QUICK, ladder=replace(LADDER, hurt_limit=0.06), blend=None)
    report = fit_by_ladder(table, features(table.states.shape[1]), None, groups, config).report
    assert (report.rung, report.chooses) == ("keep", chooses)
    assert report.served_share == pytest.approx(0.5 if chooses else 0.0)
    assert report.strength == float(chooses)
    ending = "below keep: 0.0% do" if chooses else "keep is served"
    assert report.on_limit.endswith(ending)
    assert any("the best of those that hold the limit" in one for one in report.messages)


@pytest.mark.parametrize("limit", [None, 0.06])
def test_no_network_is_trained_under_a_limit(
    limit: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[object] = []

    def fitted(*args: object, **settings: object) -> None:
        trained.append(args)
        raise TrainingError("trained")

    monkeypatch.setattr("rl_rewriter.training.by_ladder.fit_on_rows", fitted)
    table = shown_by_number(0, 20, 200)
    groups = [f"g{row}" for row in range(len(table))]
    config = replace(QUICK, ladder=replace(LADDER, hurt_limit=limit), blend=None)
    with contextlib.suppress(TrainingError):
        fit_by_ladder(table, features(table.states.shape[1]), None, groups, config)
    assert bool(trained) is (limit is None)


def test_one_more_column() -> None:
    table = identity_task(4, 2)
    found = with_column(table, "blend", np.asarray([0.1, 0.2, 0.3, 0.4]))
    assert found.action_names == (*table.action_names, "blend")
    assert found.values[:, 2].tolist() == [0.1, 0.2, 0.3, 0.4]
    np.testing.assert_allclose(found.rewards[:, 2], found.values[:, 2] - found.values[:, 0])
    np.testing.assert_array_equal(found.values[:, :2], table.values)


def test_a_checkpoint_serves_it(retriever: Retriever) -> None:
    from rl_rewriter.policies.decider import Decider

    checkpoint, _ = fit(retriever)
    assert isinstance(checkpoint.actions[2], LearnedBlend)
    decision = Decider(checkpoint).plan(QUERIES[0], retriever).decision
    assert decision.action == "blend"
    assert decision.rewrite.vector is not None
    assert decision.rewrite.lexical_weight > 0
    # A retriever of texts alone can't do it: masked before anything is drawn.
    plan = Decider(checkpoint).plan(QUERIES[0], retriever, allowed=TextOnly().offers)
    assert plan.decision.action != "blend"
    assert "blend" not in plan.decision.preferences
