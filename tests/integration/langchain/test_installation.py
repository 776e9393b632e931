"""What happens without langchain-core, and that the example runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_a_missing_package_is_named_with_the_line_that_installs_it() -> None:
    code = (
        "import sys\n"
        "sys.modules['langchain_core'] = None\n"
        "from rl_rewriter.errors import MissingExtraError\n"
        "try:\n"
        "    import rl_rewriter.integrations.langchain\n"
        "except MissingExtraError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    expected = 'langchain-core is not installed; run: pip install "rl-rewriter[langchain]"'
    assert done.stdout.strip() == expected


def test_the_adapter_imports_neither_torch_nor_chroma() -> None:
    code = (
        "import sys\n"
        "import rl_rewriter.integrations.langchain\n"
        "print([name for name in ('torch', 'chromadb', 'langchain_chroma') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


def test_the_example_runs_and_logs_a_decision_with_its_feedback(tmp_path: Path) -> None:
    example = ROOT / "examples" / "langchain_chain.py"
    done = subprocess.run(
        [sys.executable, example], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "- account-change-email"
    decision, feedback = map(
        json.loads, (tmp_path / "decisions.jsonl").read_text("utf-8").splitlines()
    )
    assert decision["id"] == feedback["decision_id"]
    assert decision["documents"][0]["id"] == "account-change-email"
