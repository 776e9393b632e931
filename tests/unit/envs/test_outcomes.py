"""Outcomes with one more action at their end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rl_rewriter.envs.outcomes import Outcomes, joined
from rl_rewriter.types import Query


def outcomes(
    names: tuple[str, ...], documents: tuple[str, ...], ranked: list[list[list[int]]]
) -> Outcomes:
    n, m = len(ranked), len(names)
    return Outcomes(
        queries=tuple(Query(f"q{row}", id=f"q{row}") for row in range(n)),
        action_names=names,
        columns=("x",),
        features=np.zeros((n, 1), dtype=np.float32),
        mask=np.ones((n, m), dtype=np.bool_),
        applied=np.ones((n, m), dtype=np.bool_),
        documents=documents,
        ranked=np.asarray(ranked, dtype=np.int32),
        effort=np.zeros((n, m, 4), dtype=np.int16),
    )


WHOLE = outcomes(
    ("keep", "a"), ("d1", "d3"), [[[0, 1], [1, 0]], [[1, -1], [0, -1]], [[0, -1], [0, 1]]]
)
PART = outcomes(("keep", "blend"), ("d2", "d3"), [[[1, -1], [0, 1]]])
ROWS = np.asarray([1])


def found(of: Outcomes, row: int, action: str) -> list[str]:
    column = of.action_names.index(action)
    return [of.documents[place] for place in of.ranked[row, column] if place >= 0]


def test_the_new_action_finds_what_its_part_found() -> None:
    part = replace(
        PART,
        effort=np.arange(8, dtype=np.int16).reshape(1, 2, 4),
        applied=np.asarray([[True, False]]),
    )
    both = joined(WHOLE, "blend", [(ROWS, part)])
    assert both.action_names == ("keep", "a", "blend")
    assert both.documents == ("d1", "d2", "d3")
    assert found(both, 1, "blend") == ["d2", "d3"]
    assert both.effort[1, 2].tolist() == [4, 5, 6, 7]
    assert both.mask[:, 2].tolist() == [False, True, False]
    assert both.applied[:, 2].tolist() == [False, False, False]


def test_all_others_stay_as_they_are() -> None:
    both = joined(WHOLE, "blend", [(ROWS, PART)])
    for row in range(3):
        for action in WHOLE.action_names:
            assert found(both, row, action) == found(WHOLE, row, action)
    assert both.mask[:, :2].all()
    assert both.queries == WHOLE.queries


def test_where_it_was_not_carried_out_it_is_keep_and_masked() -> None:
    both = joined(WHOLE, "blend", [(ROWS, PART)])
    for row in (0, 2):
        assert found(both, row, "blend") == found(WHOLE, row, "keep")
        assert not both.applied[row, 2]
        assert not both.effort[row, 2].any()


def test_parts_come_one_by_one_and_in_any_order() -> None:
    parts = [(np.asarray([row]), PART) for row in (0, 2)]
    one, other = joined(WHOLE, "blend", parts), joined(WHOLE, "blend", parts[::-1])
    np.testing.assert_array_equal(one.ranked, other.ranked)
    assert one.documents == other.documents
    assert one.mask[:, 2].tolist() == [True, False, True]


def test_without_parts_it_is_never_possible() -> None:
    both = joined(WHOLE, "blend", [])
    assert not both.mask[:, 2].any()
    np.testing.assert_array_equal(both.ranked[:, 2], both.ranked[:, 0])
