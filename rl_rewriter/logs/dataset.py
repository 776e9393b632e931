"""A decision log as arrays: what was decided, with what chance, and what it was worth."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rl_rewriter.errors import InputError
from rl_rewriter.logs.bandit import LoggedBandit, Values
from rl_rewriter.logs.columns import Integers
from rl_rewriter.logs.dataset_report import DatasetReport, off_scale_problem
from rl_rewriter.logs.gathered_decisions import GatheredDecisions
from rl_rewriter.logs.gathered_feedback import NO_ROW, GatheredFeedback
from rl_rewriter.logs.joining import DecisionIndex
from rl_rewriter.logs.reader import Records, records_from
from rl_rewriter.logs.report import ReadReport
from rl_rewriter.logs.usable import Include, why_not_usable
from rl_rewriter.rewards.composition import (
    Composed,
    FeedbackColumns,
    RewardComposition,
    compose,
)
from rl_rewriter.rewards.feedback import Expiry
from rl_rewriter.types import Matrix

__all__ = ["DatasetReport", "LoggedBandit", "dataset"]

Mask = npt.NDArray[np.bool_]


def dataset(
    source: str | Path | Records,
    *,
    composition: RewardComposition | None = None,
    expiry: Expiry | None = None,
    now: float | None = None,
    include: Collection[Include] = (),
    reading: ReadReport | None = None,
) -> tuple[LoggedBandit, DatasetReport]:
    """Read a log, join its feedback, compose rewards; one pass, some hundred bytes a decision.

    Decisions become rows where weighting can learn from them
    (:func:`rl_rewriter.logs.usable.why_not_usable`) and their reward is known. Where states were
    logged, rows have the columns that most of them have.

    Args:
        source: The log's file in any form, or its records.
        composition: How feedback becomes a reward; by default every kind counts alike, less the
            logged cost.
        expiry: What becomes of decisions without feedback; by default they are left out.
        now: The present in seconds since the epoch, to expire by; the clock's by default.
        include: "untrained" and "deterministic" for decisions that were certain.
        reading: How the log is read: strictly, and with progress told.

    Raises:
        InputError: The file can't be read; nothing in it can be used, and why; or there is a
            problem and reading is strict.
    """
    reading = ReadReport() if reading is None else reading
    composition, expiry = composition or RewardComposition(), expiry or Expiry()
    gathered = _gather(source, include, reading)
    decisions, counts = gathered.decisions, gathered.counts
    n_decisions = len(decisions) + counts.total()
    costs = np.asarray(decisions.costs)
    composed = compose(gathered.outcomes, costs, composition)
    _tell_refused(composed, gathered.feedback_counts, reading)
    fate = _fates(composed, np.asarray(decisions.times), expiry, now)
    if expiry.default is not None:
        default = expiry.default - composition.cost_weight * costs
        np.copyto(composed.rewards, default, where=fate.defaulted)
    schema, rows, states = _with_states(decisions, counts)
    usable = _usable(rows, states, composed, fate.pending, counts)
    rows, states = rows[usable], states[usable]
    if not len(rows):
        raise InputError(_nothing_left(source, n_decisions, counts, reading))
    bandit = _bandit(decisions, composed, rows, states, schema)
    return bandit, DatasetReport(
        records=reading.records,
        decisions=n_decisions,
        feedback=gathered.n_feedback,
        rows=len(bandit),
        defaulted=int(fate.defaulted[rows].sum()),
        without_propensity=int(np.isnan(bandit.propensities).sum()),
        counts=dict(+counts),
        feedback_counts=dict(+gathered.feedback_counts),
        skipped=dict(reading.skipped),
        off_scale=composed.refused,
        problems=tuple(reading.problems),
    )


@dataclass(frozen=True)
class _Gathered:
    decisions: GatheredDecisions
    outcomes: FeedbackColumns
    counts: Counter[str]
    n_feedback: int
    feedback_counts: Counter[str]


def _gather(
    source: str | Path | Records, include: Collection[Include], reading: ReadReport
) -> _Gathered:
    """One pass over the records."""
    decisions, feedback, index = GatheredDecisions(), GatheredFeedback(), DecisionIndex()
    counts: Counter[str] = Counter()
    for record in records_from(source, reading):
        if record["type"] == "feedback":
            feedback.append(record, index)
            continue
        problem = why_not_usable(record, include)
        is_new = index.add(record, NO_ROW if problem else len(decisions))
        if problem is None and is_new:
            decisions.append(record)
            continue
        counts[problem.reason if problem else "duplicate_id"] += 1
        if problem is not None and problem.sentence:
            reading.tell(f"{reading.where} {problem.sentence}", "and was left out")
    outcomes = feedback.joined(index, decisions.documents)
    return _Gathered(decisions, outcomes, counts, feedback.n_records, feedback.left_out)


def _tell_refused(composed: Composed, counts: Counter[str], reading: ReadReport) -> None:
    for kind, n_refused in composed.refused.items():
        counts["off_scale"] += n_refused
        reading.tell(
            off_scale_problem(kind, n_refused),
            "and were left out; describe it by RewardComposition(kinds={...: FeedbackKind(...)})",
        )


@dataclass(frozen=True, eq=False)
class _Fates:
    """Of decisions without a reward, ``(n,)`` each.

    Attributes:
        pending: Feedback may still come.
        defaulted: None came in time, none off its scale either, and there is a default.
    """

    pending: Mask
    defaulted: Mask


def _fates(composed: Composed, times: Values, expiry: Expiry, now: float | None) -> _Fates:
    is_young = expiry.is_young(times, time.time() if now is None else now)
    has_none = np.isnan(composed.rewards)
    return _Fates(
        pending=is_young & (has_none | expiry.mature_only),
        defaulted=has_none & ~composed.lost & ~is_young & (expiry.default is not None),
    )


def _with_states(
    decisions: GatheredDecisions, counts: Counter[str]
) -> tuple[str, Integers, Matrix]:
    """Fingerprint, rows and states of the columns that most rows have; else all rows without."""
    schema, rows, states = decisions.states.most_frequent()
    if not len(rows):
        everything = np.arange(len(decisions))
        return "", everything, np.zeros((len(everything), 0), dtype=np.float32)
    counts["no_state"] += len(decisions) - decisions.states.n_rows
    counts["other_state_schema"] += decisions.states.n_rows - len(rows)
    return schema, rows, states


def _usable(
    rows: Integers, states: Matrix, composed: Composed, pending: Mask, counts: Counter[str]
) -> Mask:
    """Which of ``rows`` have a reward and a state of finite numbers, ``(r,)``."""
    waits, rewards = pending[rows], composed.rewards[rows]
    is_missing = ~waits & np.isnan(rewards)
    is_lost = is_missing & composed.lost[rows]
    is_infinite = np.isinf(rewards) | ~np.isfinite(states).all(axis=1)
    is_infinite &= ~(waits | is_missing)
    counts["pending"] += int(waits.sum())
    counts["no_feedback"] += int((is_missing & ~is_lost).sum())
    counts["off_scale"] += int(is_lost.sum())
    counts["infinite"] += int(is_infinite.sum())
    return np.asarray(~(waits | is_missing | is_infinite))


def _bandit(
    decisions: GatheredDecisions, composed: Composed, rows: Integers, states: Matrix, schema: str
) -> LoggedBandit:
    probabilities, mask = decisions.distributions(rows)
    return LoggedBandit(
        decision_ids=tuple(decisions.ids[row] for row in rows),
        action_names=decisions.action_names,
        columns_fingerprint=schema,
        states=states,
        actions=np.asarray(decisions.actions, dtype=np.intp)[rows],
        propensities=np.asarray(decisions.propensities)[rows],
        probabilities=probabilities,
        mask=mask,
        rewards=composed.rewards[rows],
        groups=tuple(decisions.groups[row] for row in rows),
        times=np.asarray(decisions.times)[rows],
        parts={kind: part[rows] for kind, part in composed.parts.items()},
        policy_versions=tuple(decisions.policy_versions[row] for row in rows),
        blends=tuple(decisions.blends[row] for row in rows),
        views=decisions.draws.views,
        drawn_logits=decisions.draws.logits(rows) if decisions.draws.views else None,
        log_densities=np.asarray(decisions.draws.log_densities)[rows],
        sigmas=np.asarray(decisions.draws.sigmas)[rows],
    )


_HINTS = {
    "untrained": " (there was no policy to draw from: explore_untrained() gives one)",
    "deterministic": " (the most probable action, not drawn: serve with explore=True)",
    "no_feedback": " (nothing came of them: record feedback, or give a default reward)",
    "off_scale": " (their feedback is off its scale: from 0 to 1 for a kind of one's own)",
    "pending": " (feedback may still come)",
}


def _nothing_left(
    source: str | Path | Records, n_decisions: int, counts: Counter[str], reading: ReadReport
) -> str:
    name = source if isinstance(source, str | Path) else "the records given"
    if not n_decisions:
        first = f"; {reading.problems[0]}" if reading.problems else ""
        return f"there is no decision in {name}{first}"
    reasons = ", ".join(
        f"{n} {reason}{_HINTS.get(reason, '')}" for reason, n in counts.most_common() if n
    )
    return f"none of the {n_decisions} decisions in {name} can be used: {reasons}"
