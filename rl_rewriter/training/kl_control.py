"""How strongly the policy is held to its reference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from rl_rewriter.errors import InputError

KlDirection = Literal["policy_reference", "reference_policy"]


@dataclass(frozen=True, kw_only=True)
class KlConfig:
    """Weight of the KL term.

    Attributes:
        beta: Weight in reward units a nat: an action far from the reference must be worth about
            ``beta * KL`` of the metric.
        direction: ``KL(policy || reference)``, or the other way round.
        target: KL to steer to by adapting beta; None keeps beta fixed.
        rate: Step of the adaptation.
    """

    beta: float = 0.002
    direction: KlDirection = "policy_reference"
    target: float | None = None
    rate: float = 0.0002

    def __post_init__(self) -> None:
        """Refuse negative and infinite weights."""
        for name, value in (("beta", self.beta), ("rate", self.rate), ("target", self.target)):
            if value is not None and not 0.0 <= value < math.inf:
                raise InputError(f"{name} of the KL term must be finite and >= 0, got {value}")
        if self.direction not in ("policy_reference", "reference_policy"):
            raise InputError(f"unknown KL direction {self.direction!r}")

    @classmethod
    def parse(cls, text: str) -> KlConfig:
        """Read "0.01" (fixed) or "adaptive:0.5" (steered to a KL of half a nat).

        Raises:
            InputError: The text is neither, or a number is negative.
        """
        is_adaptive = text.startswith("adaptive:")
        try:
            value = float(text.removeprefix("adaptive:"))
        except ValueError:
            raise InputError(f'beta must be a number or "adaptive:TARGET", got {text!r}') from None
        return cls(target=value) if is_adaptive else cls(beta=value)

    def adapted(self, beta: float, kl: float) -> float:
        """``max(0, beta + rate (KL - target))``; unchanged without a target."""
        if self.target is None:
            return beta
        return max(0.0, beta + self.rate * (kl - self.target))
