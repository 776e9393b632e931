"""Logs whose truth is known: records of a generated chain that changes at one moment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rl_rewriter.features.feature_set import default_features
from rl_rewriter.types import Needs

FEATURES = default_features(Needs.NOTHING)
NAMES = ("keep", "keywords", "fuse_bm25@0.4")
SHIFTED = FEATURES.columns[1]
START = 1.78e9


@dataclass(frozen=True)
class World:
    """A chain that answers a request every two seconds, four in a conversation.

    Attributes:
        n: Requests.
        change: Request from which on it is another.
        shift: By how many standard deviations one feature is then higher.
        fall: By how much thumbs are then less often up, from .6.
        keep: Chance of keep then, from .6.
        fallbacks: Share of fallbacks then.
        answered: Share of requests that get a thumb, thirty seconds later.
        seed: What is drawn.
    """

    n: int = 4000
    change: int = 1 << 60
    shift: float = 0.0
    fall: float = 0.0
    keep: float = 0.6
    fallbacks: float = 0.0
    answered: float = 0.8
    seed: int = 0

    def records(self) -> Iterator[dict[str, Any]]:
        """Decisions and feedback, in order of time."""
        rng = np.random.default_rng(self.seed)
        waiting: list[dict[str, Any]] = []
        for number in range(self.n):
            yield self._decision(number, rng)
            if rng.random() < self.answered:
                chance = 0.6 - (self.fall if number >= self.change else 0.0)
                waiting.append(thumb(f"d{number}", float(rng.random() < chance), number))
            if len(waiting) > 15:
                yield waiting.pop(0)
        yield from waiting

    def _decision(self, number: int, rng: np.random.Generator) -> dict[str, Any]:
        is_new = number >= self.change
        state = rng.standard_normal(len(FEATURES.columns))
        state[2] = 0.0
        state[3] = float(rng.random() < 0.3)
        state[1] += self.shift * is_new
        keep = self.keep if is_new else 0.6
        action = NAMES[int(rng.choice(3, p=[keep, (1 - keep) / 2, (1 - keep) / 2]))]
        falls_back = is_new and rng.random() < self.fallbacks
        return decision(
            f"d{number}",
            number,
            action=action,
            reason="fallback:timeout" if falls_back else "policy",
            state=state.tolist(),
            tags={"session_id": f"s{number // 4}"},
        )


def decision(id_: str, number: int = 0, **changed: Any) -> dict[str, Any]:
    """A valid decision record of the moment ``number``."""
    record = {
        "schema": 1,
        "type": "decision",
        "id": id_,
        "time": START + 2.0 * number,
        "action": "keep",
        "reason": "policy",
        "state": None,
        "state_schema": FEATURES.fingerprint,
        "policy_version": "v1",
        "latency_ms": 2.0,
        "cost": 0.0,
        "tags": {},
    }
    return record | changed


def thumb(id_: str, value: float, number: int = 0, **changed: Any) -> dict[str, Any]:
    """A valid feedback record about a decision of the moment ``number``."""
    record = {
        "schema": 1,
        "type": "feedback",
        "decision_id": id_,
        "kind": "thumb",
        "value": value,
        "time": START + 2.0 * number + 30.0,
    }
    return record | changed
