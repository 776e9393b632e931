"""Asks nasty questions through every way into the rewriter: what fails, and what falls back.

Each question goes through one of the ways in turn (the rewriter itself, both adapters, sync and
async), over a small embedded Chroma collection of two tenants under one tenant's filter, with a
policy that draws every action equally often. Wrong are: an error that the bare retriever doesn't
raise on the same text, a document of the other tenant, a search within another filter, and a
decision log with a line that can't be read by itself. Exits with 1 where anything is wrong.

    python -m benchmarks.fuzz_queries                 # 100,000 questions
    python -m benchmarks.fuzz_queries --queries 2000 --seed 7
"""

from __future__ import annotations

import argparse
import itertools
import logging
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.fuzzed import Fuzzed
from tests.nasty_texts import NASTY, random_texts

_HUGE = 100_000
"""Characters from which a text of the list is asked at the start and in every thousandth round."""


def questions(n: int, seed: int) -> Iterator[str]:
    """The list once, then random texts with one of the list now and then."""
    yield from NASTY[:n]
    short = itertools.cycle([text for text in NASTY if len(text) < _HUGE])
    huge = itertools.cycle([text for text in NASTY if len(text) >= _HUGE])
    for row, text in enumerate(itertools.islice(random_texts(seed), max(0, n - len(NASTY)))):
        if row % 1000 == 0:
            yield next(huge)
        else:
            yield next(short) if row % 10 == 0 else text


def main() -> int:
    """Ask, and print figures."""
    parser = argparse.ArgumentParser(description="Fuzz the rewriter with nasty questions.")
    parser.add_argument("--queries", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RL_REWRITER_CACHE"] = folder
        fuzzed = Fuzzed(Path(folder) / "decisions.jsonl")
        started = time.perf_counter()
        for text, way in zip(
            questions(given.queries, given.seed), itertools.cycle(fuzzed.ways), strict=False
        ):
            fuzzed.ask(way, text)
        seconds = time.perf_counter() - started
        logged = fuzzed.check_log()
        fuzzed.loop.close()
    counts = fuzzed.counts
    print(f"questions             {counts.asked:,}")
    print(f"seconds               {seconds:.1f}")
    print(f"answered              {counts.asked - counts.shared_errors.total():,}")
    print(f"decisions logged      {logged:,}")
    print(f"actions drawn         {len(counts.actions)}")
    for name, number in sorted(counts.reasons.items()):
        print(f"  {name:<20}{number:,}")
    for name, number in sorted(counts.shared_errors.items()):
        print(f"raised, as by the bare retriever: {name} {number:,}")
    print(f"wrong                 {len(counts.problems)}")
    for problem in counts.problems[:20]:
        print(f"  {problem}")
    return 1 if counts.problems or logged != sum(counts.reasons.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
