"""Rewrites that are looked up, by id or by words."""

from __future__ import annotations

import json

import pytest

from rl_rewriter.actions import Action, ActionSpace
from rl_rewriter.actions.keep import Keep
from rl_rewriter.actions.precomputed import (
    ArmTexts,
    PrecomputedRewrite,
    PrecomputedText,
    words_of,
)
from rl_rewriter.errors import CheckpointError
from rl_rewriter.types import Evidence, Needs, Query, Rewrite, Turn

TEXTS = ArmTexts(
    {"q1": PrecomputedText("refund to card"), "q2": PrecomputedText("Parcel", llm_calls=3)},
    {words_of(Query("Money  back?")): PrecomputedText("refund")},
)


def rewritten(action: PrecomputedRewrite, query: Query) -> Rewrite | None:
    return action.rewrite(Evidence(query, None))  # type: ignore[arg-type]  # not looked at


def test_a_rewrite_is_found_by_id_then_by_words() -> None:
    action = PrecomputedRewrite("genqr/gpt", TEXTS)
    assert isinstance(action, Action)
    assert rewritten(action, Query("money back?", id="q1")) == Rewrite(("refund to card",))
    assert rewritten(action, Query(" money back? ")) == Rewrite(("refund",))
    assert rewritten(action, Query("money back?", id="elsewhere")) == Rewrite(("refund",))
    assert rewritten(action, Query("size?")) is None
    assert rewritten(action, Query("")) is None


def test_words_said_after_other_turns_are_another_question() -> None:
    action = PrecomputedRewrite("a", TEXTS)
    assert rewritten(action, Query("money back?", (Turn("user", "my shoes"),))) is None


def test_calls_are_counted_as_told() -> None:
    action = PrecomputedRewrite("a", TEXTS)
    for id_, calls in (("q1", 1), ("q2", 3)):
        rewrite = rewritten(action, Query("x", id=id_))
        assert rewrite is not None
        assert rewrite.llm_calls == calls


def test_a_rewrite_that_is_the_query_keeps_it_at_any_strength() -> None:
    query = Query("Parcel", id="q2")
    for strength in (1.0, 0.5):
        rewrite = rewritten(PrecomputedRewrite("a", TEXTS, strength), query)
        assert rewrite is not None
        assert rewrite.is_the_query(query)
        assert rewrite.llm_calls == 3


def test_half_way() -> None:
    action = PrecomputedRewrite("genqr/gpt", TEXTS, 0.5)
    assert action.name == "llm:genqr/gpt@0.5"
    assert action.needs == Needs.BLEND
    assert PrecomputedRewrite("genqr/gpt", TEXTS).name == "llm:genqr/gpt"
    assert PrecomputedRewrite("genqr/gpt", TEXTS).needs == Needs.NOTHING
    made = rewritten(action, Query("money", id="q1"))
    assert made == Rewrite(("money", "refund to card"), (0.5, 0.5))
    assert rewritten(PrecomputedRewrite("a", TEXTS, 0.0), Query("money", id="q1")) is None


def test_content_names_all_rewrites() -> None:
    variants = [
        TEXTS,
        ArmTexts(TEXTS.by_id),
        ArmTexts(TEXTS.by_words),
        ArmTexts({**TEXTS.by_id, "q1": PrecomputedText("other")}),
        ArmTexts({**TEXTS.by_id, "q1": PrecomputedText("refund to card", llm_calls=0)}),
    ]
    assert len({texts.content for texts in variants}) == len(set(variants)) == len(variants)
    reordered = ArmTexts(
        {id_: TEXTS.by_id[id_] for id_ in sorted(TEXTS.by_id, reverse=True)}, TEXTS.by_words
    )
    assert reordered == TEXTS
    assert PrecomputedRewrite("a", reordered).content == TEXTS.content


def test_a_saved_policy_asks_for_the_file() -> None:
    space = ActionSpace((Keep(), PrecomputedRewrite("genqr/gpt", TEXTS)))
    records = json.loads(json.dumps(space.to_json()))
    assert records[1]["settings"] == {"arm": "genqr/gpt", "strength": 1.0}
    with pytest.raises(CheckpointError, match=r"'llm:genqr/gpt' of a file.*--rewrites FILE"):
        ActionSpace.from_json(records)
    other_queries = PrecomputedRewrite("genqr/gpt", ArmTexts({"q9": PrecomputedText("x")}))
    restored = ActionSpace.from_json(records, [other_queries])
    assert restored[1] is other_queries
    assert restored.fingerprint == space.fingerprint
