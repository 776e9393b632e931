"""When live rewards roll a policy back, and when they don't."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rl_rewriter.errors import InputError
from rl_rewriter.logs.store import DecisionLog
from rl_rewriter.rewards.feedback import Expiry
from rl_rewriter.rollout.registry import PolicyRegistry
from rl_rewriter.rollout.roll_back import RollBackConfig
from rl_rewriter.rollout.state import Rollout
from rl_rewriter.rollout.tags import FULL, tags_of
from rl_rewriter.rollout.watch import EveryNRequests, Watch
from tests.logged import decision, feedback, write_lines
from tests.unit.rollout.parts import Clock, registry_of, served

CONFIG = RollBackConfig(session_seconds=0.0, expiry=Expiry(after=10.0, mature_only=True))


class Trial:
    """A canary of half of all sessions over a baseline, with a log and a clock."""

    def __init__(self, folder: Path, *, share: float = 0.5, **settings: Any) -> None:
        self.clock = Clock(0.0)
        self.registry, self.versions = registry_of(folder / "registry", clock=self.clock)
        self.registry.promote(self.versions[0])
        self.rollout = self.registry.promote(self.versions[1], share=share)
        self.log = folder / "log.jsonl"
        self.records: list[Any] = []
        config = RollBackConfig(**{**CONFIG.__dict__, **settings})
        self.watch = Watch(self.registry, self.log, config, clock=self.clock)

    def serve(self, n: int, gain: float, *, seed: int = 0, **settings: Any) -> None:
        rewards: Sequence[float] = np.random.default_rng(seed).normal(0.5, 0.1, size=n).tolist()
        begin = self.clock.now
        rollout = settings.pop("rollout", self.rollout)
        self.records += served(
            rollout,
            rewards,
            baseline=self.versions[0],
            gain=gain,
            begin=begin,
            name=f"{begin}-",
            seed=seed,
        )
        write_lines(self.log, self.records)
        self.clock.now += n + 100.0


def test_a_worse_canary_is_rolled_back_to_the_baseline(tmp_path: Path) -> None:
    trial = Trial(tmp_path)
    trial.serve(600, -0.1)
    found = trial.watch.look()
    assert found.rolled_back
    assert (found.candidate, found.baseline) == (trial.versions[1], trial.versions[0])
    assert found.evidence is not None
    assert found.evidence.ruling == "worse"
    assert found.evidence.interval is not None
    assert found.evidence.interval[1] < 0.0
    assert trial.registry.current().version == trial.versions[0]
    last = trial.registry.history()[-1]
    assert (last["event"], last["from"]) == ("roll_back", trial.versions[1])
    assert "worse than the baseline" in last["reason"]
    again = trial.watch.look()
    assert not again.rolled_back
    assert again.reason == "what is served was rolled back to: it is on no trial"


@pytest.mark.parametrize("gain", [0.0, 0.1])
def test_a_policy_that_is_no_worse_stays_however_often_one_looks(
    tmp_path: Path, gain: float
) -> None:
    trial = Trial(tmp_path)
    for seed in range(10):
        trial.serve(150, gain, seed=seed)
        assert not trial.watch.look().rolled_back
    assert trial.registry.current().version == trial.versions[1]


def test_nothing_is_ruled_by_few_sessions(tmp_path: Path) -> None:
    trial = Trial(tmp_path)
    trial.serve(150, -0.4)
    found = trial.watch.look()
    assert found.evidence is not None
    assert (found.evidence.ruling, found.evidence.gain) == ("waiting", None)
    assert "100 of each are needed" in found.reason


def test_a_loss_that_is_put_up_with_rolls_nothing_back(tmp_path: Path) -> None:
    trial = Trial(tmp_path, tolerance=0.2)
    trial.serve(600, -0.1)
    assert not trial.watch.look().rolled_back


def test_what_is_not_shown_in_time_is_rolled_back_where_that_is_asked(tmp_path: Path) -> None:
    trial = Trial(tmp_path, horizon=200, max_loss=0.001)
    trial.serve(600, 0.0)
    found = trial.watch.look()
    assert found.rolled_back
    assert found.evidence is not None
    assert found.evidence.ruling == "not_shown"
    good = Trial(tmp_path / "good", horizon=200, max_loss=0.001)
    good.serve(600, 0.1)
    assert not good.watch.look().rolled_back


def test_looks_step_by_step_find_what_one_look_finds(tmp_path: Path) -> None:
    trial = Trial(tmp_path)
    for seed in range(4):
        trial.serve(100, 0.02, seed=seed)
        seen = trial.watch.look()
    fresh = Watch(trial.registry, trial.log, CONFIG, clock=trial.clock).look()
    assert seen == fresh


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda watch: pickle.loads(pickle.dumps(watch))])
def test_a_copy_reads_the_log_for_itself(tmp_path: Path, copied: Callable[[Any], Any]) -> None:
    trial = Trial(tmp_path)
    trial.serve(100, 0.02)
    seen = trial.watch.look()
    other = copied(EveryNRequests(trial.watch)).watch
    assert other.look() == seen
    assert trial.watch.look() == seen


def test_evidence_goes_on_where_the_share_is_raised(tmp_path: Path) -> None:
    trial = Trial(tmp_path, share=0.3)
    trial.serve(400, 0.0)
    first = trial.watch.look().evidence
    raised = trial.registry.promote(trial.versions[1], share=0.6)
    trial.serve(400, 0.0, rollout=raised, seed=1)
    second = trial.watch.look().evidence
    assert first is not None
    assert second is not None
    assert sum(first.sessions) == 400
    assert sum(second.sessions) == 800


def test_another_rollout_begins_anew(tmp_path: Path) -> None:
    trial = Trial(tmp_path)
    trial.serve(300, -0.02)
    trial.watch.look()
    trial.rollout = trial.registry.promote(trial.versions[2], share=0.5)
    found = trial.watch.look()
    assert found.candidate == trial.versions[2]
    assert found.evidence is not None
    assert found.evidence.sessions == (0, 0)


@pytest.mark.parametrize("after", [0.5, 0.3])
def test_a_policy_for_all_is_compared_with_what_was_before(tmp_path: Path, after: float) -> None:
    trial = Trial(tmp_path)
    rng = np.random.default_rng(0)
    registry, [a, b, _] = trial.registry, trial.versions
    before = Rollout(version=a, id="aa")
    now = registry.promote(b)
    records = []
    for rollout, level, begin in ((before, 0.5, -1_000.0), (now, after, 0.0)):
        for number, reward in enumerate(rng.normal(level, 0.1, size=500).tolist()):
            name, time = f"{rollout.id}{number}", begin + number
            tags = dict(tags_of(rollout, rollout.version, FULL))
            records += [
                decision(name, time=time, tags=tags),
                feedback(name, reward, time=time + 1.0),
            ]
    write_lines(trial.log, records)
    trial.clock.now = 10_000.0
    found = trial.watch.look()
    assert found.stage == "full"
    assert found.rolled_back is (after < 0.5)
    assert found.evidence is not None
    assert found.evidence.sessions == (500, 500)


def test_what_cannot_be_compared_says_why(tmp_path: Path) -> None:
    registry, [a, *_] = registry_of(tmp_path / "registry")
    watch = Watch(registry, tmp_path / "log.jsonl", CONFIG)
    assert watch.look().reason == "no policy is promoted"
    registry.promote(a, shadow=True)
    assert watch.look().reason.startswith("a shadow serves keep")
    registry.promote(a, share=0.5)
    with pytest.raises(InputError, match="there is no decision log"):
        watch.look()


def test_unequal_shares_of_feedback_are_warned_of(tmp_path: Path) -> None:
    trial = Trial(tmp_path)
    trial.serve(600, 0.0)
    quiet = [
        record["id"]
        for record in trial.records
        if record["type"] == "decision" and record["tags"]["rollout_stage"] == "canary"
    ][::2]
    write_lines(trial.log, [r for r in trial.records if r.get("decision_id") not in quiet])
    [warning] = trial.watch.look().warnings
    assert warning.startswith("no feedback came for 50.")


def test_the_listener_looks_beside_the_work(tmp_path: Path) -> None:
    trial = Trial(tmp_path)
    trial.serve(600, -0.1)
    listener = EveryNRequests(trial.watch, every=10)
    for _ in range(9):
        listener(object())
    assert trial.registry.current().version == trial.versions[1]
    listener(object())
    listener.join(timeout=30)
    assert trial.registry.current().version == trial.versions[0]


def test_an_error_of_a_look_is_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    listener = EveryNRequests(Watch(PolicyRegistry(tmp_path / "nowhere"), tmp_path / "log"), 1)
    listener(object())
    listener.join(timeout=30)
    assert "live rewards can't be looked at: there is no policy registry" in caplog.text


def test_a_real_log_is_followed_while_it_is_written(tmp_path: Path) -> None:
    trial = Trial(tmp_path)
    log = DecisionLog(trial.log)
    rng = np.random.default_rng(5)
    for start in range(0, 600, 100):
        for record in served(
            trial.rollout,
            rng.normal(0.5, 0.1, size=100).tolist(),
            baseline=trial.versions[0],
            gain=-0.1,
            begin=float(start),
            name=f"{start}-",
            seed=start,
        ):
            log.append(record)
        trial.clock.now = start + 200.0
        if trial.watch.look().rolled_back:
            break
    assert trial.registry.current().version == trial.versions[0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": 0.7}, "alpha must lie"),
        ({"tolerance": -1.0}, "tolerance must be"),
        ({"min_sessions": 1}, "min_sessions must be"),
        ({"horizon": 200}, "go together"),
        ({"horizon": 50, "max_loss": 0.1}, "horizon must be at least"),
        ({"horizon": 200, "max_loss": -0.1}, "max_loss must be"),
        ({"session_seconds": -1.0}, "session_seconds must be"),
        ({"expiry": Expiry()}, "expiry needs after"),
    ],
)
def test_rules_that_mean_nothing_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        RollBackConfig(**settings)
