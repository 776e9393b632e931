"""The decisions of a log that can be used, in columns: some hundred bytes each."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping
from sys import intern
from typing import Any

import numpy as np
import numpy.typing as npt

from rl_rewriter.errors import InputError
from rl_rewriter.logs.columns import Integers, Ragged, States
from rl_rewriter.logs.drawn import GatheredDraws

KEEP = "keep"
MAX_ACTIONS = 1_000
GROUP_TAGS = ("session_id", "thread_id", "conversation_id", "trace_id")
_MAX_LAYOUTS = 10_000
_CHUNK = 50_000


class GatheredDecisions:
    """One entry a decision in every column."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.groups: list[str] = []
        self.times = array("d")
        self.costs = array("d")
        self.propensities = array("d")
        self.actions = array("q")
        self.states = States()
        self.documents = Ragged("q")
        self.draws = GatheredDraws()
        self.policy_versions: list[str] = []
        self.blends: list[Mapping[str, str]] = []
        self._known_blends: dict[tuple[tuple[str, str], ...], Mapping[str, str]] = {}
        self._codes: dict[str, int] = {KEEP: 0}
        self._layouts: dict[tuple[str, ...], array[int]] = {}
        self._possible = Ragged("h")
        self._probabilities = array("d")

    def __len__(self) -> int:
        """Number of decisions."""
        return len(self.ids)

    @property
    def action_names(self) -> tuple[str, ...]:
        """Every action that a decision names, keep first, then as they appeared."""
        return tuple(self._codes)

    def append(self, record: Mapping[str, Any]) -> None:
        """Take in one valid record.

        Raises:
            InputError: There are more actions than any policy has.
        """
        tags, id_, action = record.get("tags") or {}, record["id"], record["action"]
        distribution = record.get("probabilities") or {}
        propensity = record.get("propensity")
        group = next((tags[tag] for tag in GROUP_TAGS if tags.get(tag) is not None), id_)
        self.states.append(len(self), record.get("state"), record.get("state_schema") or "")
        self.ids.append(id_)
        self.groups.append(str(group))
        self.times.append(record["time"])
        self.costs.append(record.get("cost") or 0.0)
        self.actions.append(self._code(action))
        self.propensities.append(
            distribution.get(action, math.nan) if propensity is None else propensity
        )
        self._possible.append(self._layout(tuple(distribution)))
        self._probabilities.extend(distribution.values())
        self.draws.append(record)
        self.policy_versions.append(intern(record.get("policy_version") or ""))
        blends = record.get("blends") or {}
        self.blends.append(self._known_blends.setdefault(tuple(blends.items()), blends))
        self.documents.append([hash(entry["id"]) for entry in record.get("documents") or ()])

    def distributions(
        self, rows: Integers
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """Logging distributions ``(r, m)`` of some rows, and which actions were possible.

        Where a row has none: NaN, and all of them.
        """
        m = len(self._codes)
        probabilities, mask = np.zeros((len(rows), m)), np.zeros((len(rows), m), dtype=bool)
        ends = np.asarray(self._possible.ends, dtype=np.intp)
        codes = np.asarray(self._possible.codes)
        values = np.asarray(self._probabilities)
        for start in range(0, len(rows), _CHUNK):
            part = rows[start : start + _CHUNK]
            begins = np.where(part > 0, ends[part - 1], 0)
            sizes = ends[part] - begins
            here = start + np.repeat(np.arange(len(part)), sizes)
            offsets = np.arange(len(here)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            places = np.repeat(begins, sizes) + offsets
            probabilities[here, codes[places]] = values[places]
            mask[here, codes[places]] = True
            unknown = start + np.flatnonzero(sizes == 0)
            probabilities[unknown], mask[unknown] = np.nan, True
        return probabilities, mask

    def _code(self, action: str) -> int:
        code = self._codes.setdefault(action, len(self._codes))
        if code >= MAX_ACTIONS:
            raise InputError(
                f"decision {self.ids[-1]} brings the actions to more than {MAX_ACTIONS}; a "
                "decision log names the few actions of a policy"
            )
        return code

    def _layout(self, names: tuple[str, ...]) -> array[int]:
        """Codes of the actions of one distribution; most logs have very few such tuples."""
        codes = self._layouts.get(names)
        if codes is None:
            codes = array("h", [self._code(name) for name in names])
            if len(self._layouts) < _MAX_LAYOUTS:
                self._layouts[names] = codes
        return codes
