"""Patterns choose actions; keep stays."""

from __future__ import annotations

import pytest

from rl_rewriter.actions.conversation import BringIn
from rl_rewriter.actions.feedback import FuseWithBm25
from rl_rewriter.actions.keep import Keep
from rl_rewriter.actions.precomputed import ArmTexts, PrecomputedRewrite
from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.actions.words import Keywords
from rl_rewriter.benchmark.action_choice import choose_actions, learns_blend
from rl_rewriter.errors import InputError

SPACE = ActionSpace(
    (Keep(), Keywords(), Keywords(0.5), FuseWithBm25(0.2), FuseWithBm25(0.4),
     BringIn("last_user", 0.5), PrecomputedRewrite("a[1]", ArmTexts({})))
)  # fmt: skip


@pytest.mark.parametrize(
    ("patterns", "chosen"),
    [
        ("*", list(SPACE.names)),
        ("keep", ["keep"]),
        ("fuse_bm25*", ["keep", "fuse_bm25@0.2", "fuse_bm25@0.4"]),
        (" llm:* , keywords ,", ["keep", "keywords", "llm:a[1]"]),
        ("llm:a[1]", ["keep", "llm:a[1]"]),
        ("llm:a[[]?]", ["keep", "llm:a[1]"]),
        ("fuse_bm25*,!*@0.4", ["keep", "fuse_bm25@0.2"]),
        ("!*@0.4,fuse_bm25*", ["keep", "fuse_bm25@0.2"]),
        ("!history_*,! keywords*", ["keep", "fuse_bm25@0.2", "fuse_bm25@0.4", "llm:a[1]"]),
        ("!*", ["keep"]),
        ("blend", ["keep"]),
        ("keywords,bl*", ["keep", "keywords"]),
        ("!blend", list(SPACE.names)),
    ],
)
def test_patterns(patterns: str, chosen: list[str]) -> None:
    assert list(choose_actions(SPACE, patterns).names) == chosen


@pytest.mark.parametrize(
    ("patterns", "message"),
    [
        (
            "fuse*,move_*",
            r"no action fits 'move_\*'; there are: keep, keywords, keywords@0.5, fuse",
        ),
        ("!move_*", r"no action fits 'move_\*'"),
        ("Keep", "no action fits 'Keep'"),
        ("!", "no action fits ''"),
        ("!keep", "keep is what all others are compared with"),
        ("", "--actions names no action: ''"),
        (" , ", "--actions names no action"),
    ],
)
def test_patterns_that_mean_nothing_are_refused(patterns: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        choose_actions(SPACE, patterns)


@pytest.mark.parametrize(
    ("patterns", "learns"),
    [
        (None, True),
        ("*", True),
        ("blend", True),
        ("keywords, bl*", True),
        ("!llm:*", True),
        ("keywords", False),
        ("fuse_bm25*,llm:*", False),
        ("!blend", False),
        ("*,!bl*", False),
        ("blend,!*", False),
    ],
)
def test_a_blend_is_chosen_as_an_action_is(patterns: str | None, learns: bool) -> None:
    assert learns_blend(patterns) is learns


def test_a_choice_of_nothing_learns_no_blend_either() -> None:
    with pytest.raises(InputError, match="--actions names no action"):
        learns_blend(" , ")
