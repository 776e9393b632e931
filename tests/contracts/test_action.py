"""What every action promises, built in or of one's own."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
from dataclasses import replace

import numpy as np
import pytest

import rl_rewriter.actions
from rl_rewriter.actions import Action, ActionSpace, default_actions
from rl_rewriter.actions.conversation import BringIn
from rl_rewriter.actions.feedback import ExpandWithTerms, FuseWithBm25, MoveTowardDocuments
from rl_rewriter.actions.keep import Keep
from rl_rewriter.actions.llm import LlmRewrite
from rl_rewriter.actions.precomputed import ArmTexts, PrecomputedRewrite, PrecomputedText, words_of
from rl_rewriter.actions.words import Keywords, RarestTerms, TopicInFront
from rl_rewriter.types import Evidence, Needs, Query, Rewrite
from tests.support import Shout, even_blend

OWN: tuple[Action, ...] = (
    Shout(),
    PrecomputedRewrite("arm", ArmTexts({}, {words_of(Query("refund")): PrecomputedText("money")})),
    LlmRewrite(str.upper, prompt="{query}"),
    even_blend(~Needs.NOTHING, n_features=3),
)
ACTIONS: dict[str, Action] = {
    action.name: action
    for action in (
        *default_actions(~Needs.NOTHING),
        *(kind(strength=0.0) for kind in (Keywords, RarestTerms, TopicInFront, ExpandWithTerms)),
        *(MoveTowardDocuments(ranking, 2, s) for ranking in ("dense", "bm25") for s in (0.0, 1.0)),
        FuseWithBm25(0.0),
        FuseWithBm25(1.0),
        BringIn("each_turn", 1.0),
        BringIn("last_user", 1.0),
        BringIn("last_user", 0.0),
        *OWN,
    )
}
each_action = pytest.mark.parametrize("action", ACTIONS.values(), ids=ACTIONS.keys())


def test_every_built_in_action_is_checked_here() -> None:
    modules = [
        importlib.import_module(f"rl_rewriter.actions.{module.name}")
        for module in pkgutil.iter_modules(rl_rewriter.actions.__path__)
    ]
    built_in = {
        value.__name__
        for module in modules
        for value in vars(module).values()
        if inspect.isclass(value) and hasattr(value, "rewrite") and value is not Action
    }
    assert built_in == {type(action).__name__ for action in ACTIONS.values()} - {"Shout"}


@each_action
def test_it_says_what_it_is(action: Action) -> None:
    assert isinstance(action, Action)
    assert isinstance(action.name, str)
    assert action.name == action.name.strip() != ""
    assert 0.0 <= action.strength <= 1.0
    assert isinstance(action.needs, Needs)
    assert action == replace(action)  # type: ignore[type-var]
    assert hash(action) == hash(replace(action))  # type: ignore[type-var]


@each_action
def test_rewrites_are_whole_and_repeatable(action: Action, evidence: list[Evidence]) -> None:
    n_rewritten = 0
    for item in evidence:
        before = (item.query, item.vector, item.first, item.lexical)
        rewrite = action.rewrite(item)
        assert (item.query, item.vector, item.first, item.lexical) == before
        assert rewrite == action.rewrite(item)
        if rewrite is not None:
            n_rewritten += 1
            assert isinstance(rewrite, Rewrite)
            assert all(text.strip() for text in rewrite.texts)
            assert rewrite.vector is None or (
                rewrite.vector.dtype == np.float32
                and rewrite.vector.shape == (32,)
                and np.isfinite(rewrite.vector).all()
            )
    assert n_rewritten


@each_action
def test_it_asks_only_for_what_it_says_it_needs(action: Action, evidence: list[Evidence]) -> None:
    for item in evidence:
        if Needs.HISTORY in action.needs and not item.query.history:
            assert action.rewrite(item) is None
        rewrite = action.rewrite(item) or Rewrite.keep(item.query)
        assert len(rewrite.texts) == 1 or Needs.BLEND in action.needs
        assert not rewrite.lexical_weight or action.needs & (Needs.LEXICAL | Needs.SPELLING)
        assert (
            rewrite.vector is None or rewrite.vector is item.vector or Needs.VECTOR in action.needs
        )


@each_action
def test_where_nothing_was_gathered_it_does_not_fail(
    action: Action, evidence: list[Evidence]
) -> None:
    for item in evidence:
        bare = Evidence(item.query, item.statistics)
        rewrite = action.rewrite(bare)
        assert rewrite is None or rewrite.vector is None


@each_action
def test_it_survives_a_checkpoint(action: Action, evidence: list[Evidence]) -> None:
    space = ActionSpace((Keep(), action) if action.name != "keep" else (Keep(),))
    records = json.loads(json.dumps(space.to_json()))
    restored = ActionSpace.from_json(records, OWN)[-1]
    assert [restored.rewrite(item) for item in evidence] == [
        action.rewrite(item) for item in evidence
    ]


@pytest.mark.parametrize(
    "action", [action for action in ACTIONS.values() if action.strength == 0], ids=lambda a: a.name
)
def test_without_strength_it_keeps(action: Action, evidence: list[Evidence]) -> None:
    for item in evidence:
        rewrite = action.rewrite(item) or Rewrite.keep(item.query)
        assert rewrite.text == item.query.text
        assert rewrite.weights[0] == 1.0
        assert rewrite.lexical_weight == 0.0
        if rewrite.vector is not None and item.vector is not None:
            np.testing.assert_allclose(rewrite.vector, item.vector)
