"""One collection's object of ``results.json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rl_rewriter.benchmark.arm_names import BEST_FIXED, KEEP, ORACLE, POLICY, RANDOM
from rl_rewriter.benchmark.comparison.calibration import calibration
from rl_rewriter.benchmark.comparison.compared import Compared
from rl_rewriter.benchmark.comparison.effort import Efforts
from rl_rewriter.benchmark.comparison.harm import harm_of
from rl_rewriter.benchmark.comparison.verdict import verdict_of
from rl_rewriter.evaluation.comparison import Comparison, corrected
from rl_rewriter.evaluation.held_out import HeldOut

Record = dict[str, Any]


def collection_record(compared: Compared, seconds: Mapping[str, float] | None = None) -> Record:
    """All that is told about one collection searched by one retriever.

    p-values of the policy are corrected over the collections of a run when ``results.json`` is
    written; those of all other arms over the arms of this collection.

    Args:
        compared: What was found.
        seconds: Wall time of earlier stages, such as "embed".
    """
    bench, held_out, policies = compared.bench, compared.held_out, compared.policies
    tests = dict.fromkeys(_TESTS) if policies is None else _tests(held_out)
    record: Record = {
        "name": bench.name,
        "n_documents": bench.n_documents,
        "n_queries": len(held_out),
        "retriever": bench.retriever.name,
        "embedder": bench.embedder,
        "metric": held_out.metric,
        "protocol": compared.protocol,
        "actions": held_out.means(),
        "best_fixed": {
            "action": compared.best_fixed,
            "value": float(held_out.of(BEST_FIXED).mean()),
        },
        "policy": _policy(compared, tests["policy_vs_keep"]),
        "oracle": float(held_out.of(ORACLE).mean()),
        "tests": {name: test and test.to_json() for name, test in tests.items()},
        "seconds": _seconds(compared, seconds or {}),
        "notes": _notes(compared),
        "seeds": [] if policies is None else list(policies.seeds),
        "folds": compared.n_folds,
        "n_train": compared.n_train,
        "headroom": compared.headroom,
        "arms": _arms(compared, tests["policy_vs_keep"]),
        "by_kind": _by_kind(compared),
        "seed_values": [] if policies is None else held_out.by_seed(POLICY).mean(axis=1).tolist(),
        "calibration": _calibration(compared),
    }
    return {**record, "verdict": verdict_of(record)}


_TESTS = {"policy_vs_keep": KEEP, "policy_vs_best_fixed": BEST_FIXED}
_LABELS = {RANDOM: "random action", POLICY: "policy", ORACLE: "per-query best, in hindsight"}


def _tests(held_out: HeldOut) -> dict[str, Comparison | None]:
    return {name: held_out.versus(POLICY, baseline) for name, baseline in _TESTS.items()}


def _policy(compared: Compared, versus_keep: Comparison | None) -> Record | None:
    if versus_keep is None:
        return None
    efforts, harm = _efforts(compared, POLICY), harm_of(compared.held_out, POLICY)
    picked = compared.held_out.picked
    return {
        "value": float(compared.held_out.of(POLICY).mean()),
        "hurt_share": harm.hurt_share,
        "helped_share": harm.helped_share,
        "action_share": compared.held_out.action_share(POLICY),
        "searches_per_query": float(picked(POLICY, efforts.searches).mean()),
        "llm_calls_per_query": float(picked(POLICY, efforts.llm_calls).mean()),
    }


def _seconds(compared: Compared, earlier: Mapping[str, float]) -> Record:
    timing = {"embed": 0.0, "reward_table": 0.0, "train": 0.0, **compared.seconds, **earlier}
    decide_ms = () if compared.policies is None else compared.policies.decide_ms
    return {
        **{stage: round(float(value), 3) for stage, value in timing.items()},
        "decide_p50_ms": percentile(decide_ms, 50),
        "decide_p95_ms": percentile(decide_ms, 95),
    }


def percentile(values: Sequence[float], share: float) -> float:
    """A percentile rounded to microseconds, for milliseconds; 0 of nothing."""
    return round(float(np.percentile(values, share)), 3) if len(values) else 0.0


def _arms(compared: Compared, policy: Comparison | None) -> dict[str, Record]:
    held_out = compared.held_out
    arms = list(held_out.choices)
    ends = held_out.intervals()
    others = [arm for arm in arms if arm not in (KEEP, POLICY)]
    found = held_out.versus_keep(others)
    honest = [arm for arm in others if arm != ORACLE]
    versus: dict[str, Comparison | None] = {**found, KEEP: None, POLICY: policy}
    versus.update(zip(honest, corrected([found[arm] for arm in honest]), strict=True))
    return {arm: _arm(compared, arm, versus[arm], ends[arm]) for arm in arms}


def _arm(
    compared: Compared, arm: str, versus: Comparison | None, ci95: tuple[float, float]
) -> Record:
    held_out, efforts = compared.held_out, _efforts(compared, arm)

    def mean(cells: np.ndarray) -> float:
        return float(held_out.picked(arm, cells).mean())

    label = f"best single action ({compared.best_fixed})" if arm == BEST_FIXED else arm
    return {
        "label": _LABELS.get(arm, label),
        "value": float(held_out.of(arm).mean()),
        "ci95": list(ci95),
        "metrics": {name: mean(values) for name, values in held_out.values.items()},
        **harm_of(held_out, arm)._asdict(),
        "searches_per_query": mean(efforts.searches),
        "llm_calls_per_query": mean(efforts.llm_calls),
        "embedded_per_query": mean(efforts.embedded),
        "cost": mean(efforts.cost),
        "versus_keep": versus and _tested(arm, versus),
    }


def _tested(arm: str, versus: Comparison) -> Record:
    """A test against keep; what is chosen in hindsight is no hypothesis to be corrected."""
    test: Record = dict(versus.to_json())
    return {**test, "p_holm": None} if arm == ORACLE else test


def _notes(compared: Compared) -> list[str]:
    """Notes of the data and of the run, and how several policies became one figure."""
    notes = [*compared.bench.notes, *compared.notes]
    n_seeds = len(compared.held_out.choices.get(POLICY, ()))
    if n_seeds > 1:
        notes.append(
            f"policy figures are means over {n_seeds} seeds; runs/policy.run, action and text are "
            "the first seed's"
        )
    return notes


def _efforts(compared: Compared, arm: str) -> Efforts:
    """What serving an arm takes: a policy looks before it chooses."""
    return compared.efforts if arm == POLICY else compared.efforts_alone


def _by_kind(compared: Compared) -> dict[str, Record]:
    held_out, kinds = compared.held_out, np.asarray(compared.kinds, dtype=object)
    values = {
        arm: held_out.of(arm)
        for arm in (KEEP, BEST_FIXED, POLICY, ORACLE)
        if arm in held_out.choices
    }
    found = {}
    for kind in sorted(set(compared.kinds)):
        rows = np.flatnonzero(kinds == kind)
        found[kind] = {
            "n": len(rows),
            **{arm: float(of_arm[rows].mean()) for arm, of_arm in values.items()},
            "action_share": {}
            if compared.policies is None
            else held_out.action_share(POLICY, rows),
        }
    return found


def _calibration(compared: Compared) -> list[Record]:
    """Bins of the first policy's queries, but for those that it keeps: their gain is no guess."""
    held_out, predicted = compared.held_out, compared.predicted_gain
    rows = np.flatnonzero((compared.chosen > 0) & np.isfinite(predicted))
    if not len(rows):
        return []
    values = held_out.values[held_out.metric]
    true = values[rows, compared.chosen[rows]] - values[rows, 0]
    groups = None if held_out.groups is None else [held_out.groups[row] for row in rows.tolist()]
    return calibration(predicted[rows], true, groups=groups, seed=held_out.seed)
