"""How far every column moved: state features, actions, reasons, with one correction over all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rl_rewriter.evaluation.significance import holm
from rl_rewriter.features.feature_set import features_of
from rl_rewriter.logs.columns import numbered
from rl_rewriter.monitoring.seen import Seen
from rl_rewriter.monitoring.stability import NO_SHIFT, Stability, bins_of, stability

Values = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]

_EMBEDDING = "embedding_"
_DIRECTIONS = 3
_MOST_CHANGES = 6


@dataclass(frozen=True)
class Shift:
    """How far one column moved.

    Attributes:
        name: "action", "reason" or the feature's.
        found: Index and p-value.
        p_holm: p-value corrected over all columns (Holm, 1979).
        means: Mean of the reference and of the recent records; None for names.
        shares: Name -> its share in the reference and in the recent records, those that changed
            most; empty for numbers.
    """

    name: str
    found: Stability
    p_holm: float = 1.0
    means: tuple[float, float] | None = None
    shares: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The object of one column."""
        return {
            "name": self.name,
            "psi": self.found.psi,
            "by_chance": self.found.by_chance,
            "size": self.found.size,
            "p_value": self.found.p_value,
            "p_holm": self.p_holm,
            "means": list(self.means) if self.means else None,
            "shares": {name: list(both) for name, both in self.shares.items()},
        }


def shifts_between(
    reference: Sequence[Seen],
    recent: Sequence[Seen],
    *,
    names: Sequence[str] | None = None,
    bins: int = 10,
) -> tuple[list[Shift], tuple[str, ...]]:
    """Compare two samples of decisions in every column, the largest shift first.

    Args:
        reference: What it was like, at least one.
        recent: What it is like, at least one.
        names: Of the state's columns; those of the features that the log names by default.
        bins: Most bins of a column of numbers.

    Returns:
        The shifts, and what couldn't be compared.
    """
    rows, n = [*reference, *recent], len(reference)
    groups = numbered([f"{side}:{row.group}" for side, row in _sided(reference, recent)])
    found = [
        _of_names("action", [row.action for row in rows], n, groups),
        _of_names("reason", [row.reason for row in rows], n, groups),
    ]
    states, notes = _states_shifts(rows, n, groups, names, bins)
    return corrected([*found, *states]), notes


def corrected(shifts: Sequence[Shift]) -> list[Shift]:
    """The same with p-values corrected over all of them, the largest first."""
    p_values = holm([shift.found.p_value for shift in shifts])
    all_of_them = [replace(s, p_holm=p) for s, p in zip(shifts, p_values, strict=True)]
    return sorted(all_of_them, key=lambda shift: -shift.found.size)


def state_columns(
    names: Sequence[str], reference: Values, recent: Values
) -> list[tuple[str, Values, Values]]:
    """Columns to compare: each feature, but directions of an embedding in summary.

    Of more than three directions, which are ordered by how much queries vary along them, the first
    three are looked at, and the distance from the reference's mean in all of them.

    Args:
        names: Of all columns, ``d``.
        reference: States ``(n, d)``.
        recent: States ``(m, d)``.
    """
    embedded = [place for place, name in enumerate(names) if name.startswith(_EMBEDDING)]
    left_out = set(embedded[_DIRECTIONS:]) if len(embedded) > _DIRECTIONS else set()
    columns = [
        (name, reference[:, place], recent[:, place])
        for place, name in enumerate(names)
        if place not in left_out
    ]
    if left_out:
        centre = reference[:, embedded].mean(axis=0)
        far = [np.linalg.norm(side[:, embedded] - centre, axis=1) for side in (reference, recent)]
        columns.append(("embedding_distance", far[0], far[1]))
    return columns


def column_names(schema: str, size: int) -> tuple[str, ...]:
    """Names of the columns of logged states; numbers where this version doesn't know them."""
    features = features_of(schema)
    if features is not None and len(features.columns) == size:
        return features.columns
    return tuple(f"column_{place}" for place in range(size))


def states_of(rows: Sequence[Seen], schema: str) -> tuple[Values, Codes]:
    """States of these features ``(r, d)``, and which rows have them ``(r,)``."""
    having = [place for place, row in enumerate(rows) if row.state and row.schema == schema]
    sizes = Counter(len(rows[place].state or ()) for place in having)
    size = sizes.most_common(1)[0][0] if sizes else 0
    having = [place for place in having if len(rows[place].state or ()) == size]
    states = np.asarray([rows[place].state for place in having], dtype=np.float64)
    return states.reshape(len(having), size), np.asarray(having, dtype=np.intp)


def schema_of(rows: Sequence[Seen]) -> str | None:
    """Features that most states are of; None where no state was logged."""
    schemas = Counter(row.schema for row in rows if row.state)
    return schemas.most_common(1)[0][0] if schemas else None


def _sided(reference: Sequence[Seen], recent: Sequence[Seen]) -> list[tuple[str, Seen]]:
    return [*(("a", row) for row in reference), *(("b", row) for row in recent)]


def _states_shifts(
    rows: Sequence[Seen], n: int, groups: Codes, names: Sequence[str] | None, bins: int
) -> tuple[list[Shift], tuple[str, ...]]:
    before, now = schema_of(rows[:n]), schema_of(rows[n:])
    if before is None or now is None:
        return [], ("no states were logged on one side: features weren't compared",)
    if before != now:
        return [], (
            f"the features changed (state_schema {before!r}, now {now!r}): states weren't compared",
        )
    states, having = states_of(rows, now)
    inside = int((having < n).sum())
    if not 0 < inside < len(having):
        return [], ("states of one side have other columns: features weren't compared",)
    if names is None or len(names) != states.shape[1]:
        names = column_names(now, states.shape[1])
    numbers = np.unique(groups[having], return_inverse=True)[1].reshape(-1)

    def shift(name: str, reference: Values, recent: Values) -> Shift:
        found = stability(bins_of(reference, recent, bins), len(reference), numbers)
        means = (_mean(reference), _mean(recent))
        return Shift(name, found, means=means)

    columns = state_columns(names, states[:inside], states[inside:])
    return [shift(*column) for column in columns], ()


def _mean(values: Values) -> float:
    """Mean of the finite ones; 0 where none is."""
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else 0.0


def _of_names(name: str, values: Sequence[str], n: int, groups: Codes) -> Shift:
    codes = numbered(values)
    found = stability(codes, n, groups) if len(set(values)) > 1 else NO_SHIFT
    before, now = Counter(values[:n]), Counter(values[n:])
    shares = {
        label: (before[label] / n, now[label] / (len(values) - n)) for label in {*before, *now}
    }

    def by_change(label: str) -> tuple[float, str]:
        then, here = shares[label]
        return -abs(here - then), label

    most = sorted(shares, key=by_change)[:_MOST_CHANGES]
    return Shift(name, found, shares={label: shares[label] for label in most})
