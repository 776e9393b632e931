"""How fast a decision log of a million records is written, read, converted and made a dataset.

Half of the records are decisions with 36 probabilities, 40 state columns and 10 documents, half are
feedback. Every stage runs in a process of its own, so that its peak memory is its own. Run it from
the repository root: ``python -m benchmarks.log_speed [RECORDS]``; with ``--without-orjson`` as if
that weren't installed.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._support import print_table

N_RECORDS = 1_000_000
N_ACTIONS = 36
N_COLUMNS = 40
N_DOCUMENTS = 10
_CHUNK = 1_000
_WITHOUT_ORJSON = "--without-orjson"
_MIB = 1024.0


def records(n: int) -> Iterator[dict[str, Any]]:
    """A log: every decision is answered some hundred records later by a click, or by a thumb."""
    from rl_rewriter.logs.records import feedback_record
    from rl_rewriter.types import Feedback

    rng = np.random.default_rng(0)
    names = ["keep", *(f"move_bm25_{row}@0.{row % 9 + 1}" for row in range(1, N_ACTIONS))]
    waiting: deque[Feedback] = deque()
    for start in range(0, n // 2, _CHUNK):
        size = min(_CHUNK, n // 2 - start)
        distributions = rng.dirichlet(np.ones(N_ACTIONS), size)
        states = rng.standard_normal((size, N_COLUMNS)).astype(np.float32)
        drawn = (distributions.cumsum(1) < rng.random((size, 1))).sum(1).clip(max=N_ACTIONS - 1)
        for row in range(size):
            id_ = rng.bytes(16).hex()
            moment = 1.8e9 + start + row
            yield _decision(id_, moment, names, distributions[row], states[row], int(drawn[row]))
            kind = "click" if row % 2 else "thumb"
            value = float(rng.integers(2))
            rank = int(rng.integers(N_DOCUMENTS)) if kind == "click" else None
            waiting.append(Feedback(id_, value, kind, moment + 60.0, rank))
            if len(waiting) > 200:
                yield feedback_record(waiting.popleft())
    yield from map(feedback_record, waiting)


def _decision(
    id_: str, moment: float, names: list[str], distribution: Any, state: Any, drawn: int
) -> dict[str, Any]:
    probabilities = distribution.tolist()
    text = "how do I get my money back on the card?"
    return {
        "schema": 1,
        "type": "decision",
        "id": id_,
        "time": moment,
        "query": text,
        "history_len": 0,
        "action": names[drawn],
        "strength": 0.2,
        "texts": [text],
        "propensity": probabilities[drawn],
        "probabilities": dict(zip(names, probabilities, strict=True)),
        "state": state.tolist(),
        "state_schema": "0123456789abcdef",
        "policy_version": "86bed1d4282d",
        "policy_name": "mlp",
        "explored": True,
        "reason": "explored",
        "documents": [{"id": f"d{drawn}-{row}", "score": 0.5} for row in range(N_DOCUMENTS)],
        "latency_ms": 3.25,
        "cost": 0.0,
        "tags": {"session_id": id_[:6]},
    }


def _write(folder: Path, n: int) -> int:
    from rl_rewriter.logs.convert import write_records

    return write_records(records(n), folder / "log.jsonl")


def _append(folder: Path, n: int) -> int:
    from rl_rewriter.logs.store import DecisionLog
    from rl_rewriter.types import Feedback

    log = DecisionLog(folder / "appended.jsonl")
    for row in range(n // 10):
        log.append_feedback(Feedback(f"decision-{row}", 1.0, "thumb", 1.8e9))
    return n // 10


def _read(folder: Path, n: int) -> int:
    from rl_rewriter.logs.store import read_records

    return sum(1 for _ in read_records(folder / "log.jsonl"))


def _dataset(folder: Path, n: int) -> int:
    from rl_rewriter.logs.dataset import dataset

    bandit, report = dataset(folder / "log.jsonl")
    if not len(bandit) == report.decisions == n // 2:
        raise RuntimeError(f"{len(bandit)} rows of {n // 2}: {report}")
    return report.records


def _dataset_of_parquet(folder: Path, n: int) -> int:
    from rl_rewriter.logs.dataset import dataset

    return dataset(folder / "log.parquet")[1].records


def _inspect(folder: Path, n: int) -> int:
    from rl_rewriter.logs.summary import summarise

    return summarise(folder / "log.jsonl").records


def _drift(folder: Path, n: int) -> int:
    from rl_rewriter.logs.report import ReadReport
    from rl_rewriter.monitoring.drift import drift

    reading = ReadReport()
    drift(folder / "log.jsonl", reading=reading)
    return reading.records


def _monitor(folder: Path, n: int) -> int:
    from rl_rewriter.logs.follow import Follower
    from rl_rewriter.logs.report import ReadReport
    from rl_rewriter.monitoring.live import LiveSummary

    report, summary = ReadReport(), LiveSummary()
    for record in Follower(folder / "log.jsonl", report).new_records():
        summary.add(record)
    summary.look_for_drift()
    summary.snapshot()
    return report.records


def _to_parquet(folder: Path, n: int) -> int:
    from rl_rewriter.logs.convert import convert

    return convert(folder / "log.jsonl", folder / "log.parquet").records


def _from_parquet(folder: Path, n: int) -> int:
    from rl_rewriter.logs.convert import convert

    return convert(folder / "log.parquet", folder / "back.jsonl").records


STAGES: Mapping[str, Callable[[Path, int], int]] = {
    "generate and write": _write,
    "append one by one": _append,
    "read": _read,
    "inspect": _inspect,
    "drift": _drift,
    "monitor": _monitor,
    "dataset": _dataset,
    "to Parquet": _to_parquet,
    "from Parquet": _from_parquet,
    "dataset of Parquet": _dataset_of_parquet,
}


def main() -> None:
    """Run all stages and print."""
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    flags = [argument for argument in sys.argv[1:] if argument.startswith("-")]
    n = int(arguments[0]) if arguments else N_RECORDS
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in STAGES:
            command = [sys.executable, "-m", "benchmarks.log_speed", str(n), *flags]
            command += ["--stage", name, folder]
            done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
            found = json.loads(done.stdout)
            rows.append(
                (
                    name,
                    f"{found['records']:,}",
                    f"{found['seconds']:.1f}",
                    f"{found['cpu_seconds']:.1f}",
                    f"{found['records'] / found['seconds']:,.0f}",
                    f"{found['peak_mib']:.0f}",
                )
            )
        size = (Path(folder) / "log.jsonl").stat().st_size
    print_table(("stage", "records", "seconds", "CPU s", "records/s", "peak MiB"), rows)
    print(f"the log has {size / 2**20:,.0f} MiB; peaks include the interpreter and its packages")


def run_stage(name: str, folder: Path, n: int) -> None:
    """Run one stage in this process and print what it took as JSON."""
    if _WITHOUT_ORJSON in sys.argv:
        sys.modules["orjson"] = None  # type: ignore[assignment]  # as if it weren't installed
    started, cpu_started = time.perf_counter(), time.process_time()
    found = STAGES[name](folder, n)
    record = {
        "records": found,
        "seconds": time.perf_counter() - started,
        "cpu_seconds": time.process_time() - cpu_started,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MIB,
    }
    print(json.dumps(record))


if __name__ == "__main__":
    if "--stage" in sys.argv:
        at = sys.argv.index("--stage")
        run_stage(sys.argv[at + 1], Path(sys.argv[at + 2]), int(sys.argv[1]))
    else:
        main()
