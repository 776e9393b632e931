"""A blend is learned from what a rewriter logged while it drew single actions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langchain_core.messages import AIMessage, HumanMessage

from rl_rewriter import RLQueryRewriter
from rl_rewriter.actions.blend import LearnedBlend
from rl_rewriter.errors import InputError
from rl_rewriter.logs.bandit import LoggedBandit
from rl_rewriter.logs.convert import write_records
from rl_rewriter.logs.dataset import dataset
from rl_rewriter.logs.held_out import held_out
from rl_rewriter.logs.reader import read_records
from rl_rewriter.logs.shown import ShownLists, read_shown
from rl_rewriter.policies.checkpoint import Checkpoint, save_checkpoint
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from rl_rewriter.retrieval.text_only import TextOnly
from rl_rewriter.training.offline import OfflineConfig
from rl_rewriter.training.offline_report import LogFitReport
from rl_rewriter.types import OnProgress, Turn
from tests.integration.blend_logs import QUICK, N, Shop, corpus, serve, settings, shop, value
from tests.unit.training.blend.parts import LADDER

Change = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True, eq=False)
class Served:
    """A world, its log in all its forms, and what was learned from it."""

    world: Shop
    path: Path
    log: LoggedBandit
    shown: ShownLists
    checkpoint: Checkpoint
    report: LogFitReport

    def fit(
        self,
        log: LoggedBandit | Path | None = None,
        *,
        config: OfflineConfig = QUICK,
        **changes: Any,
    ) -> tuple[Checkpoint, LogFitReport]:
        """The same with something changed."""
        rewriter = RLQueryRewriter(
            changes.pop("retriever", self.world.retriever), actions=self.world.actions
        )
        if not isinstance(log, Path):
            changes = {"shown": self.shown, **changes}
        report = rewriter.fit_logs(log or self.log, config=config, **changes)
        assert rewriter.checkpoint is not None
        return rewriter.checkpoint, report


def served(folder: Path, *, in_talk: bool) -> Served:
    world, path = shop(folder, in_talk=in_talk), folder / "log.jsonl"
    rewriter = serve(world, path)
    report = rewriter.fit_logs(config=QUICK)
    assert rewriter.checkpoint is not None
    log = dataset(path)[0]
    shown = read_shown(path, log.decision_ids)
    return Served(world, path, log, shown, rewriter.checkpoint, report)


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Served:
    """Questions that stand alone, each asked in two conversations."""
    return served(tmp_path_factory.mktemp("words"), in_talk=False)


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Served:
    """Questions whose words were said a turn before."""
    return served(tmp_path_factory.mktemp("talk"), in_talk=True)


@pytest.fixture(scope="module")
def choice(words: Served) -> Checkpoint:
    """What the log teaches of single actions."""
    return words.fit(config=settings(blend=None))[0]


def test_it_is_better_than_keep_and_than_the_choice(words: Served, choice: Checkpoint) -> None:
    """On questions that nobody logged, by judgements that nobody learned from."""
    keep, policy = value(words.world, words.checkpoint)
    _, chosen = value(words.world, choice)
    assert keep < chosen < 0.6
    assert policy > chosen + 0.2
    assert policy > 0.9
    assert words.checkpoint.actions.names == (*choice.actions.names, "blend")


def test_the_report_says_what_it_is_an_estimate_of(words: Served) -> None:
    report = words.report
    assert report.ladder is not None
    assert report.ladder.rung == "same_for_all"
    assert report.policy_version == words.checkpoint.version
    assert report.credit_explained is not None
    assert 0.5 < report.credit_explained <= 1.0
    assert set(report.validation) == {"keep", "best_fixed", "policy"}
    low, high = report.gain_ci95
    gain = report.validation["policy"] - report.validation["keep"]
    assert 0.0 < low < gain < high
    assert report.best_fixed in words.world.actions.names
    assert report.validation["policy"] > report.validation["best_fixed"]
    assert report.n_records == len(words.log)
    assert "blend" in report.seconds
    assert report.warnings[-1].startswith("the blend was never shown in this log")
    assert not any(warning.startswith("no gain is shown") for warning in report.warnings)


def test_it_is_saved_and_served(words: Served, tmp_path: Path) -> None:
    save_checkpoint(words.checkpoint, tmp_path / "policy")
    rewriter = RLQueryRewriter.load(tmp_path / "policy", retriever=words.world.retriever)
    assert rewriter.checkpoint is not None
    assert rewriter.checkpoint.version == words.checkpoint.version
    decision = rewriter.decide(words.world.unseen[0])
    assert decision.action == "blend"
    assert decision.rewrite.lexical_weight > 0.2
    told = rewriter.checkpoint.training
    assert told["algorithm"] == "reinforce-offline"
    assert told["ladder"]["rung"] == "same_for_all"
    assert told["settings"]["blend"]["fine_tune"]["steps"] == 0
    assert told["credit_explained"] == words.report.credit_explained
    assert told["learned"]["marks"]


def test_conversations_teach_what_they_say(talk: Served) -> None:
    keep, policy = value(talk.world, talk.checkpoint)
    assert policy > keep + 0.5
    [blend] = talk.checkpoint.blends
    weights = blend.head.weights(blend.head.mean[None], np.ones((1, len(blend.views))) > 0)[0]
    told = dict(zip(blend.head.views, weights.tolist(), strict=True))
    assert told["words_of_history"] + told["history_in_front"] > 2.0 / len(told)  # an even share


def rewritten(talk: Served, path: Path, change: Change) -> Path:
    """The log with its decisions changed."""

    def records() -> Iterator[Mapping[str, Any]]:
        for record in read_records(talk.path):
            yield change(record) if record["type"] == "decision" else record

    write_records(records(), path)
    return path


def of_an_older_version(record: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key != "asked"}


def hashed(record: dict[str, Any]) -> dict[str, Any]:
    return {**of_an_older_version(record), "query": "0123456789abcdef"}


def without_lists(record: dict[str, Any]) -> dict[str, Any]:
    return {**record, "documents": []}


@pytest.mark.parametrize("change", [of_an_older_version, hashed, without_lists])
def test_a_log_that_lacks_something_teaches_the_choice(
    talk: Served, tmp_path: Path, change: Change
) -> None:
    checkpoint, report = talk.fit(rewritten(talk, tmp_path / "log.jsonl", change))
    assert checkpoint.blends == ()
    assert report.ladder is None
    assert report.warnings[-1] == (
        "no blend was learned: that takes 25 different queries to learn from, and as many others "
        "to value it by, with their words and conversations in the log"
    )
    assert tuple(checkpoint.training["warnings"]) == report.warnings
    assert set(checkpoint.actions.names) == set(talk.world.actions.names)


def test_a_conversation_that_is_not_told_is_missed(talk: Served, tmp_path: Path) -> None:
    """Queries searched again as if nothing had been said before: what was needed isn't learned."""
    alone = rewritten(
        talk, tmp_path / "log.jsonl", lambda record: {**record, "asked": {"history": []}}
    )
    checkpoint, _ = talk.fit(alone)
    assert value(talk.world, checkpoint)[1] < value(talk.world, talk.checkpoint)[1] - 0.2


def test_messages_of_frameworks_are_logged_as_turns(talk: Served, tmp_path: Path) -> None:
    rewriter = RLQueryRewriter(talk.world.retriever, log=tmp_path / "log.jsonl")
    messages = [HumanMessage("w1x0 w1x1"), AIMessage("anything else?")]
    decision = rewriter.decide("and the other one", history=messages)
    rewriter.record(decision, [])
    [record] = read_records(tmp_path / "log.jsonl")
    assert record["asked"]["history"] == [
        {"role": "user", "text": "w1x0 w1x1"},
        {"role": "assistant", "text": "anything else?"},
    ]
    assert decision.query.history == (
        Turn("user", "w1x0 w1x1"),
        Turn("assistant", "anything else?"),
    )


def test_rewards_of_any_scale_teach_the_same(words: Served) -> None:
    """From -1 to 3, say: values are told on their scale."""
    moved = replace(words.log, rewards=4.0 * words.log.rewards - 1.0)
    checkpoint, report = words.fit(moved)
    assert report.ladder is not None
    assert report.ladder.rung == "same_for_all"
    before = words.report.validation["policy"]
    assert report.validation["policy"] == pytest.approx(4.0 * before - 1.0, abs=0.1)
    assert value(words.world, checkpoint)[1] > 0.9


def test_old_records_count_for_less(words: Served, tmp_path: Path) -> None:
    """In a log that was made Parquet, too."""
    write_records(read_records(words.path), tmp_path / "log.parquet")
    log = dataset(tmp_path / "log.parquet")[0]
    shown = read_shown(tmp_path / "log.parquet", log.decision_ids)
    days = np.linspace(0.0, 30.0, len(log)) * 86_400.0
    aged = replace(log, times=1.7e9 + days)
    checkpoint, report = words.fit(aged, shown=shown, config=replace(QUICK, half_life_days=10.0))
    assert report.effective_records is not None
    assert report.effective_records < 0.8 * len(words.log)
    assert report.ladder is not None
    assert value(words.world, checkpoint)[1] > 0.9


def test_a_blend_of_before_is_what_a_new_one_has_to_beat(words: Served, tmp_path: Path) -> None:
    """A log of the served blend itself: it stays one action, and no worse one takes its place."""
    log = tmp_path / "log.jsonl"
    rewriter = serve(words.world, log, rounds=1, checkpoint=words.checkpoint)
    report = rewriter.fit_logs(config=QUICK)
    assert rewriter.checkpoint is not None
    assert sum(isinstance(action, LearnedBlend) for action in rewriter.checkpoint.actions) <= 1
    assert value(words.world, rewriter.checkpoint)[1] > 0.9
    if report.ladder is None:
        assert report.warnings[-1].startswith("no blend was taken: on held-out queries")


@pytest.mark.parametrize(
    ("retriever", "told"),
    [
        (Bm25Retriever(corpus().documents), "doesn't offer what the log's states are made of"),
        (TextOnly(), "doesn't offer what the log's states are made of"),
    ],
)
def test_a_retriever_that_can_do_less(words: Served, retriever: Any, told: str) -> None:
    checkpoint, report = words.fit(retriever=retriever)
    assert checkpoint.blends == ()
    assert report.warnings[-1].startswith("no blend was learned: ")
    assert told in report.warnings[-1]


def test_where_no_list_is_better_than_another(words: Served) -> None:
    _, report = words.fit(replace(words.log, rewards=np.full(len(words.log), 0.5)))
    assert report.ladder is None
    assert report.warnings[-1] == "no blend was learned: all rewards are the same"


def test_the_lists_of_another_collection_are_told_as_such(words: Served) -> None:
    renamed = replace(words.shown, documents=tuple(f"not {id_}" for id_ in words.shown.documents))
    checkpoint, report = words.fit(shown=renamed)
    assert checkpoint.blends == ()
    assert report.warnings[-1] == (
        "no blend was learned: no document that the log shows is found in this collection again; "
        "name the one that was searched"
    )


def test_no_limit_is_promised_by_credit(words: Served) -> None:
    limited = settings(ladder=replace(LADDER, hurt_limit=0.06))
    with pytest.raises(InputError, match="hurt_limit is for learning from judgements"):
        words.fit(config=limited)


def test_where_a_few_queries_are_asked_again_and_again(words: Served) -> None:
    rows = np.flatnonzero(words.shown.rows < 30)
    part = words.log.subset(rows)
    shown = replace(words.shown, rows=words.shown.rows[rows], lists=words.shown.lists[rows])
    _, report = words.fit(part, shown=shown)
    assert report.ladder is None
    assert report.warnings[-1].startswith("no blend was learned: that takes 25 different queries")


def test_where_all_to_learn_from_is_one_conversation(words: Served) -> None:
    """Some are asked again in another one, but it is the first that tells where they belong."""
    names = [f"talk {number}" for number in range(50)]
    is_out = held_out(names, 0.2)
    first, second = (names[number] for number in np.flatnonzero(~is_out)[:2])
    out = [names[number] for number in np.flatnonzero(is_out)[:2]]
    later = [out[row % 4 // 2] if row % 2 else second for row in range(N)]
    groups = tuple([first] * N + later)
    _, report = words.fit(replace(words.log, groups=groups))
    assert report.ladder is None
    assert report.warnings[-1].endswith("the queries to learn from are all of one conversation")


def note_in(told: list[str]) -> OnProgress:
    """Notes the stages that are told of."""

    def note(stage: str, done: int, total: int) -> None:
        told.append(stage)

    return note


def test_nothing_is_searched_again_where_no_blend_is_asked_for(words: Served) -> None:
    without: list[dict[str, Any]] = [
        {"retriever": None},
        {"config": settings(blend=None)},
        {"config": settings(ladder=None)},
        {"config": replace(QUICK, hold_to_log=True)},
        {"reference": words.checkpoint},
        {"shown": None},
    ]
    for changes in without:
        told: list[str] = []
        changes["on_progress"] = note_in(told)
        report = words.fit(**changes)[1]
        assert report.ladder is None
        assert "searching again" not in told
        assert not any("blend" in warning for warning in report.warnings)


def test_lists_of_another_log_are_refused(words: Served) -> None:
    with pytest.raises(InputError, match="read it with read_shown") as caught:
        words.fit(words.log.subset(range(100)))
    assert "\n" not in str(caught.value)
