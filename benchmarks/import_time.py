"""How long ``import rl_rewriter`` takes, and which heavy packages it brings in.

Ten fresh interpreters a line, one after the other in turns so that a busy moment hits all lines
alike. CPU time is shown beside wall time, since other processes don't lengthen it. Run it from the
repository root: ``python -m benchmarks.import_time``.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time

from benchmarks._support import print_table

REPEATS = 10
PROGRAMS = {
    "python alone": "pass",
    "numpy": "import numpy",
    "rl_rewriter with RLQueryRewriter": "import rl_rewriter; rl_rewriter.RLQueryRewriter",
}
HEAVY = ("torch", "sklearn", "scipy", "chromadb", "bm25s", "safetensors", "langchain_core")


def main() -> None:
    """Measure and print."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in PROGRAMS}
    for _ in range(REPEATS):
        for name, program in PROGRAMS.items():
            times[name].append(seconds_of(program))
    wall = {name: statistics.median(w for w, _ in pairs) for name, pairs in times.items()}
    cpu = {name: statistics.median(c for _, c in pairs) for name, pairs in times.items()}
    start, numpy, ours = PROGRAMS
    rows = [(name, f"{wall[name]:.3f}", f"{cpu[name]:.3f}") for name in PROGRAMS]
    for base in (start, numpy):
        more_wall, more_cpu = wall[ours] - wall[base], cpu[ours] - cpu[base]
        rows.append((f"rl_rewriter beside {base}", f"{more_wall:.3f}", f"{more_cpu:.3f}"))
    print_table((f"median of {REPEATS}", "wall s", "CPU s"), rows)
    print(f"imported with it: {', '.join(heavy_modules()) or 'none'} (of {', '.join(HEAVY)})")


def seconds_of(program: str) -> tuple[float, float]:
    """Wall and CPU seconds of a fresh interpreter."""
    before, started = os.times(), time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True)
    wall, after = time.perf_counter() - started, os.times()
    return wall, sum(after[2:4]) - sum(before[2:4])


def heavy_modules() -> list[str]:
    """Heavy packages that are loaded after the import."""
    program = f"import json, sys; {PROGRAMS['rl_rewriter with RLQueryRewriter']}"
    ask = f"{program}; print(json.dumps([m for m in {HEAVY} if m in sys.modules]))"
    answer = subprocess.run([sys.executable, "-c", ask], check=True, capture_output=True, text=True)
    return [str(name) for name in json.loads(answer.stdout)]


if __name__ == "__main__":
    main()
