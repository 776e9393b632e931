"""Spoilt checkpoints, logs and exports: how long until they load or are refused, in what memory.

Every attack runs in a process of its own, with its processor time and how much its memory grew;
then come thousands of mutations of good files. It ends with exit status 1 where anything but a
good load or an error of the family came, or a limit was passed. Run it from the repository root:
``python -m benchmarks.hostile_files [MUTATIONS]``.
"""

from __future__ import annotations

import gzip
import logging
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from rl_rewriter.logs.convert import write_records
from rl_rewriter.logs.store import read_records
from tests import hostile

N_MUTATIONS = 500
MAX_SECONDS = 1.0
MAX_GROWTH_MIB = 200.0
_MAX_ATTACK_SECONDS = 120

Opened = Callable[[Path], str]


def main(n: int) -> int:
    """Run everything; the number of limits that were passed."""
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        rows = []
        for row in chain(_attacks(Path(folder)), _mutated(Path(folder), n)):
            rows.append(row)
            print(f"{row[0]:14}{row[1]:36}{row[2]:>8} s{row[3]:>6} MiB  {row[4]}", flush=True)
    failed = [row for row in rows if _has_failed(row)]
    print(
        f"{len(rows) - len(failed)} of {len(rows)} within {MAX_SECONDS} s and {MAX_GROWTH_MIB} MiB"
    )
    return len(failed)


def _has_failed(row: tuple[str, ...]) -> bool:
    _, _, seconds, growth, outcome = row
    if outcome.startswith("FAILED"):
        return True
    return float(seconds) > MAX_SECONDS or float(growth) > MAX_GROWTH_MIB


def _attacks(folder: Path) -> Iterator[tuple[str, ...]]:
    """One row an attack."""
    policy = hostile.write_checkpoint(folder / "good")
    for name, attack in hostile.CHECKPOINT_ATTACKS.items():
        target = Path(shutil.copytree(policy, folder / "policy"))
        attack(target)
        yield "checkpoint", name, *_alone("open_checkpoint", target)
        shutil.rmtree(target)
    for kind in ("log", "export"):
        for name, attack in hostile.LINE_ATTACKS.items():
            target = folder / "file.jsonl"
            attack(target)
            yield kind, name, *_alone(f"open_{kind}", target)
            target.unlink()
    for name, changed in hostile.RECORD_ATTACKS.items():
        target = folder / "file.jsonl"
        hostile.spoil_record(target, changed)
        yield "log", name, *_alone("open_log", target)


def _alone(opened: str, target: Path) -> tuple[str, str, str]:
    """Seconds, growth in MiB and outcome of opening a file in a new process."""
    command = [sys.executable, "-m", "benchmarks.hostile_files", "--open", opened, str(target)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_MAX_ATTACK_SECONDS
        )
    except subprocess.TimeoutExpired:
        return str(_MAX_ATTACK_SECONDS), "0", "FAILED: no end"
    if done.returncode:
        return "0", "0", f"FAILED: {done.stderr.strip().splitlines()[-1:]}"
    seconds, growth, outcome = done.stdout.split("\t", 2)
    return seconds, growth, _short(outcome, target)


def _open_here(opened: str, target: Path) -> None:
    """Open one file, and print what that took."""
    open_it: Opened = getattr(hostile, opened)
    open_it(Path("nowhere"))  # so that what is imported late is there
    before = _peak_mib()
    started = time.process_time()
    outcome = open_it(target)
    seconds = time.process_time() - started
    print(f"{seconds:.3f}\t{_peak_mib() - before:.0f}\t{outcome}", end="")


def _mutated(folder: Path, n: int) -> Iterator[tuple[str, ...]]:
    """One row a file, over all its mutations, in this process."""
    rng = np.random.default_rng(0)
    policy = hostile.write_checkpoint(folder / "policy")
    for part in hostile.PARTS:
        content, manifest = (policy / part).read_bytes(), (policy / hostile.MANIFEST).read_bytes()

        def put(spoilt: bytes, part: str = part, manifest: bytes = manifest) -> Path:
            (policy / hostile.MANIFEST).write_bytes(manifest)
            (policy / part).write_bytes(spoilt)
            if part != hostile.MANIFEST:
                hostile.reseal(policy)
            return policy

        yield _worst(part, content, put, hostile.open_checkpoint, (rng, n))
        put(content)
    for name, content, opened in _good_files(folder):
        target = folder / f"mutated-{name}"

        def write(spoilt: bytes, target: Path = target) -> Path:
            target.write_bytes(spoilt)
            return target

        yield _worst(name, content, write, opened, (rng, n))


def _good_files(folder: Path) -> Iterator[tuple[str, bytes, Opened]]:
    log, table = folder / "good.jsonl", folder / "good.parquet"
    log.write_bytes(hostile.log_lines(200))
    write_records(read_records(log), table)
    yield "log.jsonl", log.read_bytes(), hostile.open_log
    yield "log.jsonl.gz", gzip.compress(log.read_bytes()), hostile.open_log
    yield "log.parquet", table.read_bytes(), hostile.open_log
    yield "export.jsonl", hostile.export_lines(200), hostile.open_export
    yield "export.jsonl.gz", gzip.compress(hostile.export_lines(200)), hostile.open_export


def _worst(
    name: str,
    content: bytes,
    put: Callable[[bytes], Path],
    opened: Opened,
    drawn: tuple[np.random.Generator, int],
) -> tuple[str, ...]:
    slowest, refused, before = 0.0, 0, _peak_mib()
    rng, n = drawn
    for number, spoilt in enumerate(hostile.mutations(content, rng, n)):
        target = put(spoilt)
        started = time.process_time()
        try:
            refused += opened(target) != "loaded"
        except Exception as error:
            outcome = f"FAILED: mutation {number}: {type(error).__name__}: {error}"
            return name, f"{n} mutations", "0", "0", outcome[:120]
        slowest = max(slowest, time.process_time() - started)
    growth = f"{_peak_mib() - before:.0f}"
    return name, f"{n} mutations", f"{slowest:.3f}", growth, f"{refused} refused or with problems"


def _short(outcome: str, target: Path) -> str:
    return " ".join(outcome.replace(str(target.parent), "").split())[:90]


def _peak_mib() -> float:
    """The largest this process has been; ``ru_maxrss`` would count its parent's size too."""
    status = Path("/proc/self/status").read_text()
    return float(status.split("VmHWM:")[1].split()[0]) / 1024.0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--open"]:
        _open_here(sys.argv[2], Path(sys.argv[3]))
    else:
        sys.exit(main(int(sys.argv[1]) if sys.argv[1:] else N_MUTATIONS) > 0)
