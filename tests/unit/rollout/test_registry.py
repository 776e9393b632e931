"""A registry of policies: what it holds, what it serves, and what it refuses."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from rl_rewriter.errors import CheckpointError, InputError
from rl_rewriter.policies.checkpoint import save_checkpoint
from rl_rewriter.rollout.registry import PolicyRegistry
from tests.unit.rollout.parts import Clock, policy, registry_of


def events(registry: PolicyRegistry) -> list[str]:
    return [event["event"] for event in registry.history()]


def test_a_policy_is_copied_in_under_the_version_of_its_content(tmp_path: Path) -> None:
    registry = PolicyRegistry(tmp_path / "registry")
    save_checkpoint(policy(), tmp_path / "policy")
    version = registry.add(tmp_path / "policy", note="first")
    shutil.rmtree(tmp_path / "policy")
    assert version.startswith(policy().policy.version)
    assert registry.load(version).policy.version == policy().policy.version
    [entry] = registry.list()
    assert (entry.version, entry.note, entry.role) == (version, "first", "")
    assert registry.current().version is None


def test_equal_content_is_one_policy_and_other_content_another(tmp_path: Path) -> None:
    registry, [first, second] = registry_of(tmp_path, 2)
    assert first != second
    assert registry.add(policy(0), note="again") == first
    assert len(registry.list()) == 2


def test_a_damaged_policy_is_not_added(tmp_path: Path) -> None:
    save_checkpoint(policy(), tmp_path / "policy")
    (tmp_path / "policy" / "policy.safetensors").write_bytes(b"nothing")
    registry = PolicyRegistry(tmp_path / "registry")
    with pytest.raises(CheckpointError, match="is damaged"):
        registry.add(tmp_path / "policy")
    assert not (tmp_path / "registry").exists()


def test_adding_again_mends_a_policy_that_was_damaged_in_the_registry(tmp_path: Path) -> None:
    registry, [version] = registry_of(tmp_path, 1)
    (tmp_path / "policies" / version / "policy.safetensors").write_bytes(b"nothing")
    assert len(registry.verify()) == 1
    with pytest.raises(CheckpointError):
        registry.promote(version)
    assert registry.add(policy(0)) == version
    assert registry.verify() == ()


def test_what_was_served_to_all_is_the_baseline_of_what_comes_after(tmp_path: Path) -> None:
    registry, [a, b, c] = registry_of(tmp_path)
    assert registry.promote(a).version == a
    assert registry.baseline() is None
    registry.promote(b, share=0.1)
    assert (registry.current().version, registry.baseline()) == (b, a)
    registry.promote(c, share=0.2)  # one canary gives way to another: it was never served to all
    assert registry.baseline() == a
    registry.promote(c)
    assert registry.baseline() == a
    registry.promote(b)
    assert registry.baseline() == c
    assert [entry.role for entry in registry.list()] == ["previous", "current", "baseline"]


def test_a_roll_back_leads_to_the_baseline_and_in_the_end_to_keep(tmp_path: Path) -> None:
    registry, [a, b, _] = registry_of(tmp_path)
    registry.promote(a)
    registry.promote(b, share=0.5)
    for expected in (a, None):
        back = registry.roll_back("worse")
        assert back is not None
        assert (back.version, back.share, back.on_trial) == (expected, 1.0, False)
    with pytest.raises(InputError, match="nothing to roll back"):
        registry.roll_back("again")


def test_promoting_the_baseline_itself_never_makes_it_its_own_baseline(tmp_path: Path) -> None:
    registry, [a, b, _] = registry_of(tmp_path)
    registry.promote(a)
    registry.promote(b, share=0.5)
    registry.promote(a)
    assert (registry.current().version, registry.baseline()) == (a, None)


def test_a_rollout_goes_on_while_only_its_share_changes(tmp_path: Path) -> None:
    registry, [a, b, _] = registry_of(tmp_path)
    first = registry.promote(a, share=0.1).id
    assert registry.promote(a, share=0.5).id == first
    assert registry.promote(a).id == first
    assert registry.promote(a, shadow=True).id != first
    assert registry.promote(b, share=0.1).id != first
    registry.promote(a)
    registry.promote(b)
    registry.roll_back("worse")
    assert registry.promote(a, share=0.5).id != first


def test_only_the_rollout_that_was_meant_is_rolled_back(tmp_path: Path) -> None:
    registry, [a, b, _] = registry_of(tmp_path)
    meant = registry.promote(a, share=0.5).id
    registry.promote(b, share=0.5)
    assert registry.roll_back("a is worse", only=meant) is None
    assert registry.current().version == b


def test_the_history_tells_when_who_what_and_why(tmp_path: Path) -> None:
    clock = Clock(50.0)
    registry, [a, *_] = registry_of(tmp_path, 1, clock=clock)
    clock.now = 60.0
    registry.promote(a, share=0.25, reason="the gate says so")
    registry.roll_back("worse")
    registry.switch_off("panic")
    registry.switch_on()
    registry.remove(a)
    assert events(registry) == ["add", "promote", "roll_back", "off", "on", "remove"]
    told = registry.history()[1]
    assert told["time"] == 60.0
    assert (told["who"], told["version"], told["share"]) == ("tester", a, 0.25)
    assert told["reason"] == "the gate says so"
    assert [event["revision"] for event in registry.history()] == [1, 2, 3, 4, 5, 6]


def test_a_death_between_state_and_history_loses_no_event(tmp_path: Path) -> None:
    registry, [a, *_] = registry_of(tmp_path, 1)
    before = (tmp_path / "history.jsonl").read_bytes()
    registry.promote(a)
    (tmp_path / "history.jsonl").write_bytes(before + b'{"torn')
    assert events(registry) == ["add", "promote"]
    registry.roll_back("worse")
    assert events(registry) == ["add", "promote", "roll_back"]


def test_long_reasons_are_cut_and_a_long_history_is_told_by_its_end(tmp_path: Path) -> None:
    registry, [a, *_] = registry_of(tmp_path, 1)
    registry.promote(a, reason="\ud800💥" * 50_000)
    registry.promote(a)
    *_, long, last = registry.history()
    assert len(long["reason"]) == 500
    assert last["revision"] == 3
    events = [{"event": "old", "revision": -number} for number in range(100_000)]
    lines = "".join(json.dumps(event) + "\n" for event in events)
    content = (tmp_path / "history.jsonl").read_text()
    (tmp_path / "history.jsonl").write_text(lines + content)
    registry.roll_back("worse")
    assert [event["revision"] for event in registry.history()[-4:]] == [1, 2, 3, 4]


def test_what_is_in_use_cannot_be_removed(tmp_path: Path) -> None:
    registry, [a, b, c] = registry_of(tmp_path)
    registry.promote(a)
    registry.promote(b)
    for version, role in ((a, "baseline"), (b, "current")):
        with pytest.raises(InputError, match=rf"in use \({role}\)"):
            registry.remove(version)
    registry.remove(c)
    assert not (tmp_path / "policies" / c).exists()
    with pytest.raises(InputError, match="holds no policy"):
        registry.promote(c)


@pytest.mark.parametrize(
    "name",
    ["../../etc", "/etc", "", ".", "policies", "a" * 12, "0" * 12 + "-" + "0" * 9, "0" * 12 + "/x"],
)
def test_a_name_that_is_no_version_leads_nowhere(tmp_path: Path, name: str) -> None:
    registry, _ = registry_of(tmp_path, 1)
    for use in (registry.load, registry.promote, registry.remove):
        with pytest.raises(InputError):
            use(name)


@pytest.mark.parametrize("share", [0.0, -0.1, 1.1, float("nan"), float("inf")])
def test_a_share_that_is_none_is_refused(tmp_path: Path, share: float) -> None:
    registry, [a, *_] = registry_of(tmp_path, 1)
    with pytest.raises(InputError, match="share must lie"):
        registry.promote(a, share=share)


def test_links_are_not_followed_out_of_the_folder(tmp_path: Path) -> None:
    registry, [a, b] = registry_of(tmp_path / "registry", 2)
    outside = tmp_path / "outside"
    shutil.move(registry.folder / "policies" / a, outside)
    (registry.folder / "policies" / a).symlink_to(outside)
    weights = registry.folder / "policies" / b / "policy.safetensors"
    shutil.move(weights, tmp_path / "weights")
    weights.symlink_to(tmp_path / "weights")
    for version in (a, b):
        with pytest.raises(CheckpointError, match="is a symbolic link"):
            registry.load(version)
    assert len(registry.verify()) == 2


@pytest.mark.parametrize("name", ["state.json", "history.jsonl", ".lock", "policies"])
def test_a_link_in_the_place_of_our_own_files_is_refused(tmp_path: Path, name: str) -> None:
    registry, [a, *_] = registry_of(tmp_path / "registry", 1)
    shutil.move(registry.folder / name, tmp_path / "elsewhere")
    (registry.folder / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CheckpointError, match="symbolic link"):
        registry.promote(a)


GOOD = {
    "schema": 1,
    "revision": 1,
    "current": {
        "version": None,
        "share": 1.0,
        "shadow": False,
        "id": "",
        "since": 0.0,
        "on_trial": False,
    },
    "previous": [],
    "policies": {},
    "event": {},
}
UNKNOWN = "0" * 12 + "-" + "0" * 8


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"[" * 100_000,
        json.dumps(GOOD | {"schema": 2}).encode(),
        json.dumps(GOOD | {"revision": "1"}).encode(),
        json.dumps(GOOD | {"revision": -1}).encode(),
        json.dumps(GOOD | {"current": None}).encode(),
        json.dumps(GOOD | {"current": {**GOOD["current"], "share": 7}}).encode(),  # type: ignore[dict-item]  # a dict, as above
        json.dumps(GOOD | {"current": {**GOOD["current"], "version": UNKNOWN}}).encode(),  # type: ignore[dict-item]  # likewise
        json.dumps(GOOD | {"previous": ["../../etc"]}).encode(),
        json.dumps(GOOD | {"previous": [UNKNOWN]}).encode(),
        json.dumps(GOOD | {"policies": {"../x": {"added": 1, "note": ""}}}).encode(),
        json.dumps(GOOD | {"policies": []}).encode(),
        b" " * (5 << 20),
    ],
)
def test_a_damaged_state_is_a_clear_error(tmp_path: Path, content: bytes) -> None:
    registry, _ = registry_of(tmp_path, 1)
    (tmp_path / "state.json").write_bytes(content)
    for use in (registry.state, registry.current, registry.history, registry.list):
        with pytest.raises(CheckpointError, match=r"state\.json"):
            use()
    with pytest.raises(CheckpointError):
        registry.add(policy(7))
    assert (tmp_path / "state.json").read_bytes() == content


def test_a_state_that_vanished_is_no_empty_registry(tmp_path: Path) -> None:
    registry, _ = registry_of(tmp_path, 1)
    (tmp_path / "state.json").unlink()
    with pytest.raises(CheckpointError, match="is missing, although"):
        registry.current()


def test_a_pipe_in_the_place_of_the_state_holds_nobody_up(tmp_path: Path) -> None:
    registry, _ = registry_of(tmp_path, 1)
    (tmp_path / "state.json").unlink()
    os.mkfifo(tmp_path / "state.json")
    with pytest.raises(CheckpointError, match="is no regular file"):
        registry.current()


def test_reading_makes_no_registry(tmp_path: Path) -> None:
    registry = PolicyRegistry(tmp_path / "nowhere")
    for use in (
        registry.state,
        registry.list,
        registry.verify,
        registry.switch_on,
        registry.switch_off,
    ):
        with pytest.raises(InputError, match="there is no policy registry at"):
            use()
    assert not (tmp_path / "nowhere").exists()


def test_the_kill_switch_engages_even_where_the_state_is_damaged(tmp_path: Path) -> None:
    registry, _ = registry_of(tmp_path, 1)
    (tmp_path / "state.json").write_bytes(b"{")
    registry.switch_off("panic")
    assert (tmp_path / "KILL").exists()


def test_what_a_dead_process_left_is_swept_and_told_from_policies(tmp_path: Path) -> None:
    registry, [a, *_] = registry_of(tmp_path, 1)
    (tmp_path / "policies" / ".adding-dead").mkdir()
    (tmp_path / ".state.json-dead").write_text("{")
    (tmp_path / "policies" / "stranger").mkdir()
    assert [problem.split(":")[0] for problem in registry.verify()] == ["stranger"]
    registry.promote(a)
    assert not (tmp_path / "policies" / ".adding-dead").exists()
    assert not (tmp_path / ".state.json-dead").exists()


def test_a_version_can_be_named_by_how_it_begins(tmp_path: Path) -> None:
    registry, [a, _] = registry_of(tmp_path, 2)
    assert registry.resolve(a[:6]) == registry.resolve(a) == a
    for name in ("", a[:3], "zzzz", "../.."):
        with pytest.raises(InputError, match="no policy of the registry begins"):
            registry.resolve(name)
