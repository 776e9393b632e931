"""Examples that belong to neither framework, run as a user runs them; none is forgotten."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def printed(name: str, folder: Path) -> list[str]:
    """Lines that an example prints."""
    done = subprocess.run(
        [sys.executable, EXAMPLES / name], cwd=folder, capture_output=True, text=True, timeout=580
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_an_action_of_ones_own_is_learned_where_it_helps(tmp_path: Path) -> None:
    lines = printed("own_action.py", tmp_path)

    assert "'who grants vpn' -> spell_out: 'who grants virtual private network'" in lines
    spelt_out = "'who grants virtual private network'"  # already: sent as it is
    [sent] = [line for line in lines if line.startswith(f"{spelt_out} ->")]
    assert sent.endswith(f": {spelt_out}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.timeout(600)  # trains for half a minute, on a busy machine for long
def test_a_collection_of_ones_own_from_training_to_loading(tmp_path: Path) -> None:
    first, *_, last = printed("own_chroma_collection.py", tmp_path)

    assert first == "before training: untrained"
    assert last == "loaded policy decides alike: True"
    assert list(tmp_path.iterdir()) == []


def test_every_example_is_run_by_a_test() -> None:
    examples = sorted(path.name for path in EXAMPLES.glob("*.py"))
    tests = (ROOT / "tests" / "integration").rglob("test_*.py")
    sources = "\n".join(path.read_text("utf-8") for path in tests)
    assert examples
    assert [name for name in examples if f'"{name}"' not in sources] == []
