"""What weights were worth elsewhere: the numbers that are shipped, and what is made of them."""

from __future__ import annotations

import json
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rl_rewriter.actions.blend_prior import BlendPrior, shipped_prior
from rl_rewriter.actions.views import VIEWS
from rl_rewriter.errors import InputError
from rl_rewriter.types import Vector

NAMES = tuple(view.name for view in VIEWS)
PRIOR = BlendPrior(
    ("query", "words"), np.asarray([2.0, 3.0], np.float32), np.asarray([0.5, 8.0], np.float32)
)


def vector(*numbers: float) -> Vector:
    return np.asarray(numbers, dtype=np.float32)


def test_the_shipped_numbers_are_a_logit_and_a_scale_for_every_view() -> None:
    prior = shipped_prior()
    assert prior.views == NAMES
    assert prior.scale is not None
    assert (prior.scale > 0).all()
    weights = prior.head(NAMES, 3, 1.0).weights(
        np.zeros((1, 3), np.float32), np.ones((1, len(NAMES)), dtype=bool)
    )
    assert weights.sum() == pytest.approx(1.0)
    assert (weights > 0).all()


def test_the_shipped_file_names_what_it_was_learned_on_and_holds_nothing_else() -> None:
    text = files("rl_rewriter.actions").joinpath("shipped_prior.json").read_text("utf-8")
    record = json.loads(text)
    assert set(record) == {"made_by", "learned_on", "views"}
    assert all(
        set(of) == {"licence", "training_queries"} and of["licence"]
        for of in record["learned_on"].values()
    )
    assert all(set(of) == {"logit", "scale"} for of in record["views"].values())


def test_the_query_weighs_more_than_any_view_of_it_and_a_conversation_counts() -> None:
    logits = dict(zip(NAMES, shipped_prior().logits.tolist(), strict=True))
    of_history = ("history_in_front", "last_answer", "words_of_history", "words_of_history_alike")
    assert all(logits["query"] > logits[name] for name in NAMES[1:] if name not in of_history)
    assert logits["history_in_front"] > logits["last_answer"]


@given(st.lists(st.sampled_from(NAMES[1:]), unique=True, min_size=1), st.floats(0.01, 1.0))
def test_for_any_views_weights_are_shares_and_keep_has_the_rest(
    others: list[str], strength: float
) -> None:
    names = ("query", *others)
    present = np.ones((1, len(names)), dtype=bool)
    whole, held = (
        shipped_prior().head(names, 1, share).weights(np.zeros((1, 1), np.float32), present)[0]
        for share in (1.0, strength)
    )
    assert held.sum() == pytest.approx(1.0, abs=1e-5)
    assert held[1:] == pytest.approx(strength * whole[1:], abs=1e-6)


def test_views_that_it_does_not_know_are_left_out_of_a_head_and_low_in_logits() -> None:
    head = PRIOR.head(("query", "left", "words"), 4, 1.0)
    assert head.views == ("query", "words")
    assert (head.bias.tolist(), head.scale.tolist()) == ([2.0, 3.0], [0.5, 8.0])
    assert len(head.mean) == 4
    assert PRIOR.for_views(("query", "left", "words")).tolist() == [2.0, -1.0, 3.0]


def test_numbers_come_back_from_json() -> None:
    again = BlendPrior.from_json(json.loads(json.dumps(PRIOR.to_json())))
    assert again.views == PRIOR.views
    assert again.scale is not None
    assert again.logits.tolist() == PRIOR.logits.tolist()
    assert again.scale.tolist() == [0.5, 8.0]


@pytest.mark.parametrize("logits", [[1.0], [1.0, np.nan]])
def test_numbers_that_are_no_logits_of_the_views_are_refused(logits: list[float]) -> None:
    with pytest.raises(InputError, match="one finite logit for each of its 2 views"):
        BlendPrior(("a", "b"), vector(*logits))


@pytest.mark.parametrize("scale", [[1.0], [1.0, 0.0], [1.0, np.inf]])
def test_scales_that_divide_nothing_are_refused(scale: list[float]) -> None:
    with pytest.raises(InputError, match="one positive scale for each of its 2 views"):
        BlendPrior(("a", "b"), vector(1.0, 2.0), vector(*scale))


@pytest.mark.parametrize("strength", [0.0, -0.1, 1.1, np.nan])
def test_a_strength_that_is_no_share_is_refused(strength: float) -> None:
    with pytest.raises(InputError, match=r"strength must lie in \(0, 1\]"):
        PRIOR.head(NAMES, 1, strength)


@pytest.mark.parametrize(
    ("prior", "names"),
    [
        (PRIOR, ("query",)),
        (PRIOR, ("query", "left")),
        (PRIOR, ("left", "query", "words")),
        (BlendPrior(("query", "words"), vector(1.0, 2.0)), NAMES),
    ],
)
def test_where_it_knows_too_little_there_is_nothing_to_blend(
    prior: BlendPrior, names: tuple[str, ...]
) -> None:
    with pytest.raises(InputError, match="nothing to blend"):
        prior.head(names, 1, 1.0)
