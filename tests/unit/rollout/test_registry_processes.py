"""Several processes change one registry, and some are killed in the middle of it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from rl_rewriter.rollout.registry import PolicyRegistry
from tests.unit.rollout.parts import policy, registry_of

CHANGE = """
import sys
import numpy as np
from rl_rewriter.rollout.registry import PolicyRegistry

folder, seed, versions = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
registry, rng = PolicyRegistry(folder, who=f"process {seed}"), np.random.default_rng(seed)
print("ready", flush=True)
for _ in range(100_000):
    registry.promote(versions[rng.integers(len(versions))], share=float(rng.choice([0.1, 1.0])))
    if rng.random() < 0.3:
        try:
            registry.roll_back("why not")
        except ValueError:  # somebody else was quicker
            pass
"""


def start(registry: PolicyRegistry, versions: list[str], seed: int) -> subprocess.Popen[str]:
    arguments = [str(registry.folder), str(seed), *versions]
    process = subprocess.Popen(
        [sys.executable, "-c", CHANGE, *arguments], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_readers_see_whole_states_and_the_history_misses_none(tmp_path: Path) -> None:
    registry, versions = registry_of(tmp_path)
    processes = [start(registry, list(versions), seed) for seed in range(3)]
    seen, stop = [registry.state().revision], threading.Event()

    def read() -> None:
        while not stop.is_set():
            seen.append(registry.state().revision)  # raises on any state that isn't whole

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for seed in range(3, 7):  # each is killed at some moment, and another takes its place
            time.sleep(0.1)
            victim = processes.pop(0)
            victim.send_signal(signal.SIGKILL)
            victim.wait()
            processes.append(start(registry, list(versions), seed))
    finally:
        for process in processes:
            process.kill()
            process.wait()
        stop.set()
        reader.join()
    assert seen == sorted(seen)
    assert seen[-1] > 20
    registry.promote(versions[0])  # the lock of the dead is free, and what they left is swept
    told = [event["revision"] for event in registry.history()]
    assert told == list(range(1, registry.state().revision + 1))
    assert len({event["who"] for event in registry.history()}) > 3
    assert registry.verify() == ()
    assert not list(tmp_path.glob(".state.json-*"))


ADD = """
import json, sys
from rl_rewriter.policies.checkpoint import load_checkpoint
from rl_rewriter.rollout.registry import PolicyRegistry

print(json.dumps([PolicyRegistry(sys.argv[1]).add(folder) for folder in sys.argv[2:]]))
"""


def test_the_same_policies_added_at_once_are_there_once(tmp_path: Path) -> None:
    from rl_rewriter.policies.checkpoint import save_checkpoint

    folders = []
    for number in range(3):
        save_checkpoint(policy(number), tmp_path / str(number))
        folders.append(str(tmp_path / str(number)))
    words = [sys.executable, "-c", ADD, str(tmp_path / "registry"), *folders]
    processes = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    found = [json.loads(process.communicate(timeout=60)[0]) for process in processes]
    assert found[0] == found[1] == found[2]
    registry = PolicyRegistry(tmp_path / "registry")
    assert {entry.version for entry in registry.list()} == set(found[0])
    assert registry.verify() == ()
