"""Examples are run by the tests of what they show; this one sees to it that none is forgotten."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_example_is_run_by_a_test() -> None:
    examples = {path.name for path in (ROOT / "examples").glob("*.py")}
    tests = "\n".join(
        path.read_text("utf-8")
        for path in (ROOT / "tests" / "integration").rglob("test_*.py")
        if path != Path(__file__)
    )
    assert examples
    assert [name for name in sorted(examples) if f'"{name}"' not in tests] == []
