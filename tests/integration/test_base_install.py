"""Serving where nothing but the base dependencies is installed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from rl_rewriter.policies.checkpoint import save_checkpoint
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from tests.support import DOCUMENTS, QUERIES, fixed_checkpoint

BLOCKED = """
import sys

class Refuse:
    allowed = {"numpy", "safetensors", "bm25s", "rl_rewriter"} | set(sys.stdlib_module_names)

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in self.allowed and not name.startswith("__editable__"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refuse())
"""
"""Hides every package beyond those that the wheel requires."""
SERVE = """
import json, logging, sys
from rl_rewriter import RLQueryRewriter
from rl_rewriter.retrieval.in_memory import Bm25Retriever

logging.basicConfig(level=logging.DEBUG)
documents, queries = json.loads(sys.stdin.read())
rewriter = RLQueryRewriter.load(
    sys.argv[1], retriever=Bm25Retriever(documents), log=sys.argv[1] + ".jsonl"
)
found = [rewriter.retrieve(query, k=3) for query in queries]
for one in found:
    rewriter.record(one.decision, one.ranking)
    rewriter.feedback(one.decision.id, value=1.0, kind="thumb")
print(json.dumps([[one.decision.action, one.decision.reason, one.ranking.ids] for one in found]))
"""


def python(code: str, *args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", BLOCKED + code, *args],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_a_saved_policy_serves_and_logs_as_it_does_with_everything_installed(
    tmp_path: Path,
) -> None:
    retriever = Bm25Retriever(DOCUMENTS)
    policy = tmp_path / "policy"
    save_checkpoint(fixed_checkpoint(retriever, "expand_3x5"), policy)

    done = python(SERVE, str(policy), stdin=json.dumps([DOCUMENTS, QUERIES]))

    assert done.returncode == 0, done.stderr
    served = json.loads(done.stdout)
    assert [(action, reason) for action, reason, _ in served] == [("expand_3x5", "policy")] * 4
    assert all(len(ids) == 3 for _, _, ids in served)
    assert len(Path(f"{policy}.jsonl").read_text("utf-8").splitlines()) == 8


def test_the_command_line_says_what_to_install() -> None:
    done = python("from rl_rewriter.cli import main\nmain()", "--version")

    assert done.returncode == 1
    assert done.stderr == 'error: typer is not installed; run: pip install "rl-rewriter[train]"\n'
