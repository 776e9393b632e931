"""What serving gets from a registry, whatever happens to it."""

from __future__ import annotations

import pickle
import shutil
import threading
from collections import Counter
from pathlib import Path

import pytest

from rl_rewriter.rollout.deployment import RegistryDeployment
from rl_rewriter.rollout.kill_switch import VARIABLE, KillSwitch
from rl_rewriter.rollout.registry import PolicyRegistry
from rl_rewriter.serving.deployment import Assignment
from tests.unit.rollout.parts import Clock, policy, registry_of

SESSIONS = [f"session-{number}" for number in range(500)]


@pytest.fixture(autouse=True)
def variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def version_of(assignment: Assignment) -> str | None:
    return None if assignment.checkpoint is None else assignment.checkpoint.policy.version


def test_a_promotion_is_served_after_the_next_look(tmp_path: Path) -> None:
    registry, [a, *_] = registry_of(tmp_path)
    clock = Clock()
    deployment = RegistryDeployment(registry, clock=clock)
    before = deployment.choose("s")
    assert (before.checkpoint, before.reason) == (None, "untrained")
    assert before.tags["rollout_version"] == "keep"
    registry.promote(a)
    clock.now += 0.9
    assert deployment.choose("s").checkpoint is None
    clock.now += 0.1
    after = deployment.choose("s")
    assert version_of(after) == policy(0).policy.version
    assert after.tags == {
        "rollout_stage": "full",
        "rollout_version": a,
        "rollout_id": registry.current().id,
        "rollout_share": "1.0",
    }
    assert not after.shadow


def test_a_canary_divides_sessions_the_same_way_everywhere(tmp_path: Path) -> None:
    registry, [a, b, _] = registry_of(tmp_path)
    registry.promote(a)
    registry.promote(b, share=0.3)
    one, other = RegistryDeployment(registry), RegistryDeployment(tmp_path)
    stages = Counter[str]()
    for session in SESSIONS:
        found = one.choose(session)
        assert found.tags == other.choose(session).tags
        number = {"canary": 1, "baseline": 0}[found.tags["rollout_stage"]]
        assert version_of(found) == policy(number).policy.version
        assert found.tags["rollout_version"] == (a, b)[number]
        stages[found.tags["rollout_stage"]] += 1
    assert stages["canary"] / len(SESSIONS) == pytest.approx(0.3, abs=0.1)


def test_raising_the_share_takes_no_session_away(tmp_path: Path) -> None:
    registry, [a, *_] = registry_of(tmp_path)
    clock = Clock()
    deployment = RegistryDeployment(registry, clock=clock)
    held: set[str] = set()
    for share in (0.1, 0.4, 1.0):
        registry.promote(a, share=share)
        clock.now += 1.0
        inside = {s for s in SESSIONS if deployment.choose(s).checkpoint is not None}
        assert held < inside
        held = inside
    assert held == set(SESSIONS)


def test_the_others_of_a_first_canary_are_kept(tmp_path: Path) -> None:
    registry, [a, *_] = registry_of(tmp_path)
    registry.promote(a, share=0.5)
    deployment = RegistryDeployment(registry)
    found = [deployment.choose(session) for session in SESSIONS]
    kept = [one for one in found if one.checkpoint is None]
    assert 0 < len(kept) < len(found)
    assert {one.reason for one in kept} == {"untrained"}
    assert {one.tags["rollout_version"] for one in kept} == {"keep"}


def test_a_shadow_is_told_as_one(tmp_path: Path) -> None:
    registry, [a, b, _] = registry_of(tmp_path)
    registry.promote(a)
    registry.promote(b, shadow=True, share=0.5)
    deployment = RegistryDeployment(registry)
    for session in SESSIONS[:50]:
        found = deployment.choose(session)
        assert found.shadow == (found.tags["rollout_stage"] == "shadow")
        assert version_of(found) == policy(int(found.shadow)).policy.version


def test_a_roll_back_is_served(tmp_path: Path) -> None:
    registry, [a, b, _] = registry_of(tmp_path)
    registry.promote(a)
    registry.promote(b)
    clock = Clock()
    deployment = RegistryDeployment(registry, clock=clock)
    registry.roll_back("worse")
    clock.now += 1.0
    assert version_of(deployment.choose("s")) == policy(0).policy.version
    assert deployment.versions == (a,)


@pytest.mark.parametrize("damage", ["state", "state_gone", "policy", "registry_gone"])
def test_serving_goes_on_with_what_it_has(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    registry, [a, b, _] = registry_of(tmp_path / "registry")
    registry.promote(a)
    clock = Clock()
    # The switch is elsewhere: a registry that is gone would engage its own.
    deployment = RegistryDeployment(registry, clock=clock, kill_switch=KillSwitch())
    state = registry.folder / "state.json"
    if damage == "state":
        state.write_bytes(b"{")
    elif damage == "state_gone":
        state.unlink()
    elif damage == "policy":
        registry.promote(b)
        (registry.folder / "policies" / b / "policy.safetensors").write_bytes(b"")
    else:
        shutil.move(registry.folder, tmp_path / "away")
    for _ in range(3):
        clock.now += 10.0
        assert version_of(deployment.choose("s")) == policy(0).policy.version
    assert deployment.errors == 3
    assert len(caplog.records) == 1
    assert "serving what it had" in caplog.text
    if damage == "policy":
        registry.add(policy(1))
        clock.now += 10.0
        assert version_of(deployment.choose("s")) == policy(1).policy.version


def test_a_failing_registry_is_not_tried_at_every_request(tmp_path: Path) -> None:
    registry, _ = registry_of(tmp_path)
    (tmp_path / "state.json").write_bytes(b"{")
    clock = Clock()
    deployment = RegistryDeployment(registry, clock=clock)
    for _ in range(9):
        clock.now += 1.0
        found = deployment.choose("s")
        assert (found.checkpoint, found.reason) == (None, "no_policy")
    assert deployment.errors == 1


def test_a_registry_that_comes_later_is_found(tmp_path: Path) -> None:
    clock = Clock()
    deployment = RegistryDeployment(tmp_path / "registry", clock=clock)
    assert deployment.choose("s").checkpoint is None
    registry = PolicyRegistry(tmp_path / "registry")
    registry.promote(registry.add(policy()))
    clock.now += 10.0
    assert deployment.choose("s").checkpoint is not None


def test_the_kill_switch_keeps_every_query_and_lets_the_rollout_be(tmp_path: Path) -> None:
    registry, [a, *_] = registry_of(tmp_path)
    registry.promote(a)
    clock = Clock()
    deployment = RegistryDeployment(registry, clock=clock)
    registry.switch_off("panic")
    clock.now += 0.5
    assert deployment.choose("s") == Assignment(reason="kill_switch")
    registry.switch_on()
    clock.now += 0.5
    assert deployment.choose("s").checkpoint is not None


def test_threads_meet_one_state_or_the_next_while_policies_are_swapped(tmp_path: Path) -> None:
    registry, [a, b, _] = registry_of(tmp_path)
    registry.promote(a)
    deployment = RegistryDeployment(registry, check_seconds=0.0)
    digits = {version: policy(n).policy.version for n, version in enumerate((a, b))}
    seen, stop, wrong = Counter[str](), threading.Event(), []

    def ask() -> None:
        while not stop.is_set():
            found = deployment.choose("s")
            version = found.tags["rollout_version"]
            seen[version] += 1
            if version_of(found) != digits[version]:
                wrong.append(version)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for number in range(20):
        registry.promote((a, b)[number % 2])
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong
    assert deployment.errors == 0
    assert set(seen) == {a, b}


def test_a_copy_serves_the_same(tmp_path: Path) -> None:
    registry, [a, *_] = registry_of(tmp_path)
    registry.promote(a, share=0.5)
    deployment = RegistryDeployment(registry)
    copy = pickle.loads(pickle.dumps(deployment))
    for session in SESSIONS[:20]:
        assert copy.choose(session).tags == deployment.choose(session).tags
