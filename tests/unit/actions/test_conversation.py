"""What each part of a conversation is, and how it is brought in."""

from __future__ import annotations

import pytest

from rl_rewriter.actions.conversation import BringIn, HistoryInFront
from rl_rewriter.text.history_parts import MAX_HISTORY_CHARS, MAX_TURNS, Part
from rl_rewriter.types import Needs, Rewrite
from tests.unit.actions.conftest import MakeEvidence

HISTORY = (("user", "u1"), ("assistant", "a1"), ("user", "u2"), ("assistant", "a2"))
PARTS: dict[Part, tuple[str, ...]] = {
    "last_user": ("u2",),
    "last_answer": ("a2",),
    "first_last": ("u1 u2",),
    "user_turns": ("u1 u2",),
    "each_turn": ("u1", "a1", "u2", "a2"),
    "everything": ("u1 a1 u2 a2",),
}


@pytest.mark.parametrize("part", PARTS)
def test_bring_in_blends_the_part(evidence: MakeEvidence, part: Part) -> None:
    rewrite = BringIn(part, 0.4).rewrite(evidence("q", HISTORY))
    texts = PARTS[part]
    assert rewrite is not None
    assert rewrite.texts == ("q", *texts)
    assert rewrite.weights == pytest.approx((0.6, *[0.4 / len(texts)] * len(texts)))


@pytest.mark.parametrize("part", PARTS)
def test_at_full_strength_the_part_replaces_the_query(evidence: MakeEvidence, part: Part) -> None:
    """A text-only retriever gets the first text: that must not be the query then."""
    action = BringIn(part, 1.0)
    rewrite = action.rewrite(evidence("q", HISTORY))
    assert rewrite is not None
    assert rewrite.texts == PARTS[part]
    assert (Needs.BLEND in action.needs) == (len(rewrite.texts) > 1)


@pytest.mark.parametrize("part", PARTS)
def test_in_front_is_one_text(evidence: MakeEvidence, part: Part) -> None:
    asked = evidence("q", HISTORY)
    joined = " ".join((*PARTS[part], "q"))
    assert HistoryInFront(part).rewrite(asked) == Rewrite((joined,))
    assert HistoryInFront(part, fusion=0.4).rewrite(asked) == Rewrite((joined,), lexical_weight=0.4)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("history", [(), (("user", " "), ("assistant", "\n"))])
def test_nothing_where_the_part_is_empty(
    evidence: MakeEvidence, part: Part, history: tuple[tuple[str, str], ...]
) -> None:
    assert BringIn(part, 0.5).rewrite(evidence("q", history)) is None
    assert HistoryInFront(part).rewrite(evidence("q", history)) is None


def test_one_user_turn_is_first_and_last_once(evidence: MakeEvidence) -> None:
    rewrite = HistoryInFront("first_last").rewrite(evidence("款", (("user", "退"),)))
    assert rewrite == Rewrite(("退 款",))


def test_of_long_histories_the_end_counts(evidence: MakeEvidence) -> None:
    turns = [("user", f"turn {number}") for number in range(MAX_TURNS + 4)]
    rewrite = BringIn("each_turn", 0.5).rewrite(evidence("q", turns))
    assert rewrite is not None
    assert rewrite.texts == ("q", *(f"turn {number}" for number in range(4, MAX_TURNS + 4)))
    long = BringIn("last_user", 0.5).rewrite(evidence("q", [("user", "x" * 9000 + " end")]))
    assert long is not None
    assert len(long.texts[1]) == MAX_HISTORY_CHARS
    assert long.texts[1].endswith(" end")


def test_names_and_needs() -> None:
    assert BringIn("last_user", 0.3).name == "history_last_user@0.3"
    assert BringIn("last_user", 0.3).needs == Needs.HISTORY | Needs.BLEND
    assert HistoryInFront("last_user").name == "history_last_user_in_front"
    assert HistoryInFront("last_user").needs == Needs.HISTORY
    fused = HistoryInFront("last_user", fusion=0.4)
    assert fused.name == "history_last_user_in_front+bm25@0.4"
    assert fused.needs == Needs.HISTORY | Needs.LEXICAL
