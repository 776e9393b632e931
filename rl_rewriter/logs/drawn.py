"""Drawn weights of learned blends in a log: whether they can be believed, and as arrays."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from rl_rewriter.actions.blend_logits import SIGMAS, Logits, logits_of
from rl_rewriter.errors import InputError
from rl_rewriter.logs.columns import Integers, Ragged
from rl_rewriter.logs.schema import Problem

WEIGHT_TOLERANCE = 1e-3
"""What logged weights may sum to 1 by, having been rounded."""
MAX_VIEWS = 100
_FARTHEST = 1_000.0
"""Squared standard deviations beyond which nobody ever draws."""


def problem_of_draw(record: Mapping[str, Any]) -> Problem | None:
    """What contradicts itself in the drawn weights of a valid decision record; None where nothing.

    A density can't be above that of the middle of the Gaussian, nor below any that is ever drawn.
    """
    weights, density = record.get("weights"), record.get("log_density")
    sigma = record.get("sigma")
    if sigma is not None and not SIGMAS[0] <= sigma <= SIGMAS[1]:
        return Problem("sigma", f"has sigma {sigma:g}, which isn't from {SIGMAS[0]} to {SIGMAS[1]}")
    if not weights and density is None:
        return None
    if not weights or density is None or sigma is None:
        return Problem("weights", "has not all of weights, log_density and sigma")
    total = math.fsum(weights.values())
    if abs(total - 1.0) > WEIGHT_TOLERANCE:
        return Problem("weights", f"has weights that sum to {total:.6g}, not 1")
    dimensions = sum(weight > 0.0 for weight in weights.values()) - 1
    highest = -dimensions * (math.log(sigma) + 0.5 * math.log(2.0 * math.pi))
    slack = WEIGHT_TOLERANCE * (1.0 + abs(highest))
    if not highest - _FARTHEST / 2.0 <= density <= highest + slack:
        return Problem(
            "log_density",
            f"has log_density {density:.6g} of weights whose highest is {highest:.6g}",
        )
    return None


class GatheredDraws:
    """Drawn weights of one decision after the other; most have none."""

    def __init__(self) -> None:
        self.log_densities = array("d")
        self.sigmas = array("d")
        self._codes: dict[str, int] = {}
        self._views = Ragged("h")
        self._weights = array("d")

    @property
    def views(self) -> tuple[str, ...]:
        """Every view that a decision names, as they appeared."""
        return tuple(self._codes)

    def append(self, record: Mapping[str, Any]) -> None:
        """Take in one decision.

        Raises:
            InputError: There are more views than any blend has.
        """
        weights, sigma = record.get("weights") or {}, record.get("sigma")
        self.sigmas.append(math.nan if sigma is None else sigma)
        self.log_densities.append(record.get("log_density") or 0.0)
        self._views.append([self._code(view, record) for view in weights])
        self._weights.extend(weights.values())

    def logits(self, rows: Integers) -> Logits:
        """Centred logits of drawn weights, ``(r, v)``, of some rows.

        -inf for views that the query didn't have, NaN for those that the blend doesn't have; a row
        of NaN where none were drawn.
        """
        weights = np.full((len(rows), len(self._codes)), np.nan)
        values = np.asarray(self._weights)
        for place, row in enumerate(rows.tolist()):
            codes = self._views.row(row)
            if codes:
                end = self._views.ends[row]
                weights[place, codes] = values[end - len(codes) : end]
        return np.where(np.isnan(weights), np.nan, logits_of(weights))

    def _code(self, view: str, record: Mapping[str, Any]) -> int:
        code = self._codes.setdefault(view, len(self._codes))
        if code >= MAX_VIEWS:
            raise InputError(
                f"decision {record['id']} brings the views to more than {MAX_VIEWS}; weights are "
                "those of a learned blend's few views"
            )
        return code


def has_draw(logits: Logits) -> npt.NDArray[np.bool_]:
    """Which rows of logits hold drawn weights, ``(n,)``."""
    return np.asarray((~np.isnan(logits)).any(axis=1))
