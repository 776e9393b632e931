"""How fast an export of a million rows becomes a decision log, and how much memory it takes.

Half of the rows are retriever runs in LangSmith's form with ten documents, half are feedback on
them. Imported decisions have no propensity and no state, so no arrays are made of them:
``log_speed`` times that for a log of this package's own. Run it from the repository root:
``python -m benchmarks.import_speed [ROWS]``.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rl_rewriter.logs.importers.import_logs import ImportConfig, import_logs

N_ROWS = 1_000_000
N_DOCUMENTS = 10
_MIB = 1024.0


def main() -> None:
    """Write an export, import it, and print."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else N_ROWS
    with tempfile.TemporaryDirectory() as folder:
        export, out = Path(folder) / "export.jsonl", Path(folder) / "log.jsonl"
        with export.open("w", encoding="utf-8") as lines:
            lines.writelines(json.dumps(row) + "\n" for row in rows(n // 2))
        started, used = time.perf_counter(), time.process_time()
        report = import_logs([export], out, ImportConfig(tool="langsmith"))
        took, cpu = time.perf_counter() - started, time.process_time() - used
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MIB
        size = export.stat().st_size / _MIB**2
    print(
        f"{n} rows ({size:.0f} MiB): {report.decisions} decisions and {report.feedback} feedback "
        f"in {took:.1f} s ({cpu:.1f} s CPU), peak memory {peak:.0f} MiB"
    )


def rows(n: int) -> Iterator[dict[str, Any]]:
    """Runs, each followed by the feedback on it."""
    rng = np.random.default_rng(0)
    for number in range(n):
        run_id = str(uuid.UUID(int=number))
        yield {
            "id": run_id,
            "trace_id": run_id,
            "parent_run_id": None,
            "run_type": "retriever",
            "name": "VectorStoreRetriever",
            "inputs": {"query": f"how do I return order {number % 1000}?"},
            "outputs": {
                "documents": [
                    {"page_content": "A return is free.", "metadata": {}, "id": f"d{document}"}
                    for document in rng.integers(0, 5000, N_DOCUMENTS).tolist()
                ]
            },
            "start_time": "2026-05-01T10:00:00+00:00",
            "end_time": "2026-05-01T10:00:00.020000+00:00",
            "error": None,
            "tags": [],
            "extra": {"metadata": {"session_id": f"s{number // 5}"}},
        }
        yield {
            "id": str(uuid.UUID(int=n + number)),
            "run_id": run_id,
            "trace_id": run_id,
            "key": "thumb",
            "score": number % 2,
            "created_at": "2026-05-01T10:05:00+00:00",
        }


if __name__ == "__main__":
    main()
