"""The ordered space: masks, fingerprints, round trips, actions of the user's own."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from typing import Any

import pytest

from rl_rewriter.actions import Action, ActionSpace, default_actions
from rl_rewriter.actions.conversation import BringIn, HistoryInFront
from rl_rewriter.actions.feedback import FuseWithBm25
from rl_rewriter.actions.keep import Keep
from rl_rewriter.actions.words import Keywords, RarestTerms
from rl_rewriter.errors import CheckpointError, InputError
from rl_rewriter.types import Evidence, Needs, Query, Rewrite, Turn
from tests.support import Shout

EVERYTHING = ~Needs.NOTHING


@dataclass(frozen=True)
class AsksModel:
    """Holds something that can neither be copied nor written as JSON, as clients do."""

    prompt: str
    client: Any = field(default_factory=threading.Lock)
    strength: float = 1.0
    needs: Needs = Needs.NOTHING

    @property
    def name(self) -> str:
        return f"asks_model_{self.prompt}"

    def rewrite(self, evidence: Evidence) -> Rewrite | None:
        return None


class NoAction:
    name = "none"


def test_every_built_in_action_survives_the_round_trip() -> None:
    space = default_actions(EVERYTHING)
    restored = ActionSpace.from_json(json.loads(json.dumps(space.to_json())))
    assert restored == space
    assert restored.fingerprint == space.fingerprint
    assert len(set(space.names)) == len(space)


def test_fingerprint_changes_with_order_settings_and_kind() -> None:
    spaces: list[tuple[Action, ...]] = [
        (Keep(), Keywords(), RarestTerms()),
        (Keep(), RarestTerms(), Keywords()),
        (Keep(), Keywords(), RarestTerms(5)),
        (Keep(), Keywords(0.5), RarestTerms()),
        (Keep(), Keywords()),
        (Keep(), Keywords(), Shout(name="top_idf_4")),
    ]
    fingerprints = [ActionSpace(actions).fingerprint for actions in spaces]
    assert len(set(fingerprints)) == len(spaces)
    assert ActionSpace((Keep(), Keywords(), RarestTerms())).fingerprint == fingerprints[0]


def test_own_actions_are_found_by_name_and_asked_for_where_missing() -> None:
    space = default_actions(Needs.NOTHING).extended([Shout()])
    assert isinstance(Shout(), Action)
    assert ActionSpace.from_json(space.to_json(), [Shout()]) == space
    with pytest.raises(CheckpointError, match=r"'shout' of your own \(Shout\).*actions=\[Shout"):
        ActionSpace.from_json(space.to_json())


def test_own_actions_may_hold_what_is_no_json() -> None:
    space = ActionSpace((Keep(), AsksModel("short")))
    assert space.to_json()[1]["settings"] == {"prompt": "short", "strength": 1.0}
    assert space.fingerprint == ActionSpace((Keep(), AsksModel("short"))).fingerprint
    assert space.fingerprint != ActionSpace((Keep(), AsksModel("long"))).fingerprint


def test_settings_of_another_version_are_named() -> None:
    records = ActionSpace((Keep(), Keywords())).to_json()
    records[1]["settings"]["volume"] = 11
    with pytest.raises(CheckpointError, match=r"'keywords' are not those of Keywords.*volume"):
        ActionSpace.from_json(records)


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ((), "first action must be 'keep'"),
        ((Keywords(), Keep()), "first action must be 'keep'.*keywords"),
        ((Keep(), Keywords(), Keywords()), "stand twice.*keywords"),
        ((Keep(), NoAction()), "is no action: it needs name, strength, needs and rewrite"),
        ((Keep(), Keywords), "is no action"),
        ((Keep(), "keywords"), "is no action"),
        ((Keep(), Keywords(1.5)), r"strength of action 'keywords' must lie in \[0, 1\], got 1.5"),
        ((Keep(), Keywords(-0.1)), "must lie in"),
        ((Keep(), Keywords(float("nan"))), "must lie in"),
    ],
)
def test_spaces_that_cannot_work_are_refused(actions: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ActionSpace(actions)


def test_mask_follows_offers_and_history() -> None:
    space = ActionSpace(
        (Keep(), Keywords(), Keywords(0.5), FuseWithBm25(0.2), BringIn("last_user", 0.5),
         HistoryInFront("last_user"), HistoryInFront("last_user", fusion=0.4))
    )  # fmt: skip
    alone, going_on = Query("q"), Query("q", (Turn("user", "before"),))
    masks = space.mask([alone, going_on], Needs.NOTHING).tolist()
    assert masks == [[1, 1, 0, 0, 0, 0, 0], [1, 1, 0, 0, 0, 1, 0]]
    masks = space.mask([going_on, alone], Needs.BLEND | Needs.LEXICAL).tolist()
    assert masks == [[1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0, 0]]
    assert space.mask([alone], EVERYTHING).tolist() == [[1, 1, 1, 1, 0, 0, 0]]
    assert space.mask([], Needs.NOTHING).shape == (0, 7)


def test_actions_that_no_query_can_carry_out_are_left_out() -> None:
    space = ActionSpace((Keep(), Keywords(), FuseWithBm25(0.2), BringIn("last_user", 0.5)))
    alone, going_on = Query("q"), Query("q", (Turn("user", "before"),))
    assert space.possible_for([alone], Needs.NOTHING).names == ("keep", "keywords")
    assert space.possible_for([alone, going_on], Needs.BLEND).names == (
        "keep",
        "keywords",
        "history_last_user@0.5",
    )
    assert space.possible_for([going_on], EVERYTHING) is space


def test_default_actions_are_those_that_can_be_carried_out() -> None:
    for offers in (Needs.NOTHING, Needs.BLEND, Needs.VECTOR, Needs.BLEND | Needs.LEXICAL):
        space = default_actions(offers)
        assert space.mask([Query("q", (Turn("user", "x"),))], offers).all()
    assert len(default_actions(EVERYTHING)) > len(default_actions(Needs.BLEND))
    assert "fuse_bm25@0.2" not in default_actions(Needs.BLEND).names


def test_lookup() -> None:
    space = ActionSpace((Keep(), Keywords()))
    assert space.index("keywords") == 1
    assert space[1] == Keywords()
    assert list(space) == [Keep(), Keywords()]
    with pytest.raises(InputError, match="no action 'shout'; there are: keep, keywords"):
        space.index("shout")
    assert default_actions(Needs.LEXICAL).needs == Needs.LEXICAL | Needs.HISTORY
