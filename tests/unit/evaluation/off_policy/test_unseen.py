"""A policy isn't judged by what it learned from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rl_rewriter.errors import InputError
from rl_rewriter.evaluation.off_policy.unseen import unseen
from rl_rewriter.logs.bandit import LoggedBandit
from rl_rewriter.logs.held_out import held_out
from rl_rewriter.logs.marks import marks_of
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.policies.starting import starting_checkpoint
from rl_rewriter.retrieval.in_memory import Bm25Retriever
from tests.bandits import bandit
from tests.support import DOCUMENTS

LOG = bandit(1000)


def trained_on(log: LoggedBandit, **changed: Any) -> Checkpoint:
    learned = {
        "marks": list(marks_of(log.decision_ids)),
        "until": float(log.times.max()),
        "held_out_share": 0.2,
        "seed": 3,
        **changed,
    }
    checkpoint = starting_checkpoint(Bm25Retriever(DOCUMENTS))
    return replace(checkpoint, training={"learned": learned})


def test_held_out_rows_are_the_same_in_any_order_and_company() -> None:
    names = [f"c{number}" for number in range(2000)]
    out = held_out(names, 0.2, seed=1)
    assert out.mean() == pytest.approx(0.2, abs=0.04)
    assert held_out(names[::-1], 0.2, seed=1).tolist() == out[::-1].tolist()
    assert held_out(names[:10], 0.2, seed=1).tolist() == out[:10].tolist()
    assert held_out(names, 0.2, seed=2).tolist() != out.tolist()
    assert held_out(["a", "a", "b", "a"], 0.5).tolist()[0] == held_out(["a"], 0.5).tolist()[0]


def test_what_was_learned_from_is_left_out() -> None:
    left, [note] = unseen(LOG, [trained_on(LOG)])
    expected = held_out(LOG.groups, 0.2, seed=3)
    assert left.decision_ids == LOG.subset(expected).decision_ids
    assert f"judged by {expected.sum()} of 1000 records" in note


def test_later_records_are_kept() -> None:
    left, _ = unseen(LOG, [trained_on(LOG.subset(np.arange(600)))])
    assert set(LOG.decision_ids[600:]) <= set(left.decision_ids)
    assert len(left) < 600


def test_another_log_is_judged_as_a_whole() -> None:
    other = replace(LOG, decision_ids=tuple(f"other-{name}" for name in LOG.decision_ids))
    assert unseen(LOG, [trained_on(other)]) == (LOG, ())
    assert unseen(LOG, [starting_checkpoint(Bm25Retriever(DOCUMENTS))]) == (LOG, ())


def test_where_nothing_is_left_it_says_so() -> None:
    with pytest.raises(InputError, match="trained on all records of this log"):
        unseen(LOG, [trained_on(LOG, held_out_share=0.0)])
