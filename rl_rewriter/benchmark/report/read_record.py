"""Reads a collection's object of ``results.json``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from rl_rewriter.benchmark.arm_names import BEST_FIXED, KEEP, ORACLE, POLICY
from rl_rewriter.benchmark.report.arms import read_arms, read_versus
from rl_rewriter.benchmark.report.fields import Fields
from rl_rewriter.benchmark.report.record import Bin, Kind, Record, Room

T = TypeVar("T")


def read_record(fields: Fields) -> Record:
    """Read what the report shows.

    Raises:
        InputError: Name or retriever is missing, or a value has the wrong type; the text names
            file and place.
    """
    policy, best = fields.child(POLICY), fields.child(BEST_FIXED)
    tests = fields.child("tests")
    return Record(
        name=fields.needed_text("name"),
        retriever=fields.needed_text("retriever"),
        facts=_present(fields.text, ("embedder", "metric", "protocol")),
        counts=_present(fields.count, ("n_documents", "n_queries", "n_train", "folds")),
        seeds=tuple(int(seed) for seed in fields.number_list("seeds")),
        seed_values=fields.number_list("seed_values"),
        seconds=fields.numbers("seconds"),
        verdict=fields.text("verdict"),
        notes=fields.texts("notes"),
        values=_values(fields),
        best_action=best.text("action") if best else None,
        hurt_share=policy.number("hurt_share") if policy else None,
        helped_share=policy.number("helped_share") if policy else None,
        action_share=policy.numbers("action_share") if policy else {},
        versus_keep=read_versus(tests.child("policy_vs_keep") if tests else None),
        versus_best_fixed=read_versus(tests.child("policy_vs_best_fixed") if tests else None),
        room=_room(fields.child("headroom")),
        arms=read_arms(fields),
        kinds=_kinds(fields),
        calibration=_bins(fields),
    )


def _values(fields: Fields) -> dict[str, float]:
    actions = fields.child("actions")
    policy, best = fields.child(POLICY), fields.child(BEST_FIXED)
    found = {
        KEEP: actions.number(KEEP) if actions else None,
        BEST_FIXED: best.number("value") if best else None,
        POLICY: policy.number("value") if policy else None,
        ORACLE: fields.number(ORACLE),
    }
    return {name: value for name, value in found.items() if value is not None}


def _room(fields: Fields | None) -> Room | None:
    if fields is None:
        return None
    return Room(
        fields.text("verdict"),
        fields.number("oracle_corrected"),
        fields.number("predictable"),
        fields.number("differ_share"),
    )


def _kinds(fields: Fields) -> tuple[Kind, ...]:
    kinds = [
        Kind(
            name,
            kind.count("n") or 0,
            _present(kind.number, (KEEP, BEST_FIXED, POLICY, ORACLE)),
            kind.numbers("action_share"),
        )
        for name, kind in fields.named("by_kind")
    ]
    return tuple(sorted(kinds, key=lambda kind: -kind.n))


def _bins(fields: Fields) -> tuple[Bin, ...]:
    bins = []
    for part in fields.children("calibration"):
        predicted, true = part.number("predicted"), part.number("true")
        if predicted is not None and true is not None:
            bins.append(Bin(predicted, true, part.count("n") or 0, part.interval("ci95")))
    return tuple(bins)


def _present(read: Callable[[str], T | None], keys: Iterable[str]) -> dict[str, T]:
    """What a reader finds under keys, without those that are absent."""
    return {key: value for key in keys if (value := read(key)) is not None}
