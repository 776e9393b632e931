"""A log is recognised by a few of its decisions, however it was cut."""

from __future__ import annotations

import pytest

from rl_rewriter.logs.marks import N_MARKS, marks_of, share_known

IDS = [f"decision-{number}" for number in range(5000)]


def test_marks_are_few_and_do_not_depend_on_order() -> None:
    marks = marks_of(IDS)
    assert len(marks) == N_MARKS
    assert marks_of(reversed(IDS)) == marks
    assert len(marks_of(IDS[:10])) == 10


def test_a_part_of_a_log_is_recognised_by_its_share() -> None:
    marks = marks_of(IDS)
    assert share_known(IDS, marks) == 1.0
    assert share_known(IDS[:1000], marks) == pytest.approx(0.2, abs=0.1)
    assert share_known([f"other-{name}" for name in IDS], marks) == 0.0
    assert share_known(IDS, ()) == 0.0
