"""Start from what a tracing tool recorded: an export becomes a decision log, and a first answer.

The export is made up here, in the form of LangSmith's runs and feedback: a shop's chain that
sometimes lets an LLM rephrase the question. Yours is a file; nothing else changes.
"""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from typing import Any

from rl_rewriter.logs.dataset import dataset
from rl_rewriter.logs.importers.import_logs import ImportConfig, import_logs

QUESTIONS = ("how do I get my money back?", "when does my parcel arrive?", "is a repair free?")
PAGES = ("refunds", "delivery", "warranty", "repairs", "returns")


def trace(number: int, draw: random.Random) -> list[dict[str, Any]]:
    """One question through the chain: the chain's run, the retriever's, and a thumb."""
    name, question = f"trace-{number}", QUESTIONS[number % len(QUESTIONS)]
    rephrased = draw.random() < 0.5
    searched = f"Please find information on: {question}" if rephrased else question
    times = {"start_time": "2026-01-01T12:00:00", "end_time": "2026-01-01T12:00:00.040"}
    shared = {"trace_id": name, "error": None, **times}
    pages = [{"id": page, "page_content": f"About {page}."} for page in draw.sample(PAGES, 3)]
    satisfied = draw.random() < (0.45 if rephrased else 0.65)
    return [
        {"id": name, "run_type": "chain", "inputs": {"input": question}, **shared},
        {
            "id": f"retriever-{number}",
            "parent_run_id": name,
            "run_type": "retriever",
            "inputs": {"query": searched},
            "outputs": {"documents": pages},
            **shared,
        },
        {"id": f"thumb-{number}", "run_id": name, "key": "satisfied", "score": int(satisfied)},
    ]


def main() -> None:
    draw = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        export, log = Path(folder) / "runs.jsonl", Path(folder) / "decisions.jsonl"
        rows = [row for number in range(400) for row in trace(number, draw)]
        export.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

        report = import_logs([export], log, ImportConfig(tool="langsmith"))
        print(f"{report.read} rows: {report.decisions} decisions, {report.feedback} feedback")
        print(f"left out: {dict(report.skipped)}")

        logged, _ = dataset(log)
        for number, action in enumerate(logged.action_names):
            rewards = logged.rewards[logged.actions == number]
            print(f"{action}: {len(rewards)} questions, {rewards.mean():.0%} satisfied")
        print("nobody drew these actions by chance: a difference may be one of the questions")


if __name__ == "__main__":
    main()
