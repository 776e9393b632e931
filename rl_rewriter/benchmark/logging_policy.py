"""Who decides in a simulated log."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rl_rewriter.benchmark.workbench import Workbench
from rl_rewriter.errors import InputError
from rl_rewriter.policies.checkpoint import Checkpoint, load_checkpoint
from rl_rewriter.policies.exploration import EVENLY, Exploration
from rl_rewriter.policies.starting import starting_checkpoint


@dataclass(frozen=True, eq=False)
class LoggingPolicy:
    """A policy, and how boldly it is drawn from.

    Attributes:
        checkpoint: The policy.
        exploration: What its actions, and the weights of its blend, are drawn from.
    """

    checkpoint: Checkpoint
    exploration: Exploration

    @classmethod
    def parse(cls, text: str, bench: Workbench, *, sigma: float = 0.0) -> LoggingPolicy:
        """Read "uniform", "epsilon:0.1" (around keep), or the folder of a saved policy.

        Args:
            text: What is written.
            bench: What will be searched.
            sigma: Standard deviation with which the logits of the policy's learned blend are drawn.

        Raises:
            InputError: It is none of them, epsilon isn't in [0, 1], or ``sigma`` cannot be or is
                given for a policy without a learned blend.
            CheckpointError: The folder holds no usable policy.
        """
        exploration = Exploration(sigma=sigma)
        kind, _, share = text.partition(":")
        if text != "uniform" and kind != "epsilon":
            found = cls(load_checkpoint(Path(text), own_actions=bench.actions), exploration)
        else:
            if kind == "epsilon":
                exploration = Exploration(around="keep", epsilon=_share(share, text))
            else:
                exploration = EVENLY
            actions = bench.actions.possible_for(bench.train, bench.retriever.offers)
            found = cls(starting_checkpoint(bench.retriever, actions=actions), exploration)
        if sigma and not found.checkpoint.blends:
            raise InputError(
                f"sigma {sigma:g} is for the weights of a learned blend, and {text!r} has none: "
                "name the folder of a saved policy with a blend, or give no sigma"
            )
        return found


def _share(number: str, text: str) -> float:
    try:
        return float(number)
    except ValueError:
        raise InputError(f'a logging policy is written like "epsilon:0.1", got {text!r}') from None
