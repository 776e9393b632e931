"""How a policy is trained."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rl_rewriter.errors import InputError

if TYPE_CHECKING:
    from rl_rewriter.policies.checkpoint import Checkpoint
    from rl_rewriter.training.config import FitConfig
    from rl_rewriter.training.offline import OfflineConfig

_REFERENCES = ("keep", "best-fixed", "uniform")


@dataclass(frozen=True)
class TrainOptions:
    """How a policy is trained."""

    algorithm: Annotated[str, typer.Option(help='How to learn; so far "reinforce".')] = "reinforce"
    reference: Annotated[
        str,
        typer.Option(
            help="What the KL term holds to: keep, best-fixed, uniform, or the folder of a saved "
            'policy; from --logs also "logged", the policy that wrote them.'
        ),
    ] = "keep"
    beta: Annotated[
        str,
        typer.Option(
            help='Weight of the KL term: a number, or "adaptive:TARGET" in nats; from --logs also '
            "several numbers between commas, of which held-out records choose."
        ),
    ] = "0.002"
    updates: Annotated[int, typer.Option(help="Gradient steps.")] = 1500

    def config(self, seed: int) -> FitConfig:
        """The library's settings.

        Raises:
            InputError: The algorithm is unknown, or a setting cannot work.
        """
        from rl_rewriter.training.config import FitConfig, ReinforceConfig
        from rl_rewriter.training.kl_control import KlConfig

        if self.algorithm != "reinforce":
            raise InputError(f'unknown algorithm {self.algorithm!r}; this version has "reinforce"')
        if not self._names_a_folder and self.reference not in _REFERENCES:
            raise InputError(
                f"unknown reference {self.reference!r}: keep, best-fixed, uniform, the folder of a "
                'saved policy, or from --logs "logged"'
            )
        return FitConfig(
            reinforce=ReinforceConfig(
                updates=self.updates, kl=KlConfig.parse(self.beta), seed=seed
            ),
            reference="keep" if self._names_a_folder else self.reference,  # type: ignore[arg-type]  # checked by FitConfig
        )

    def offline(self, seed: int) -> OfflineConfig:
        """The library's settings for learning from a log."""
        from rl_rewriter.training.kl_control import KlConfig
        from rl_rewriter.training.offline import OfflineConfig

        is_logged = self.reference == "logged"
        settings = replace(self, reference="keep") if is_logged else self
        several = self.beta.split(",")
        betas = tuple(KlConfig.parse(beta).beta for beta in several) if several[1:] else ()
        settings = replace(settings, beta=several[0])
        return OfflineConfig(fit=settings.config(seed), betas=betas, hold_to_log=is_logged)

    def reference_policy(self) -> Checkpoint | None:
        """The saved policy that the KL term holds to; None where a name says it.

        Raises:
            CheckpointError: The folder holds no usable policy.
        """
        from rl_rewriter.policies.checkpoint import load_checkpoint

        return load_checkpoint(Path(self.reference)) if self._names_a_folder else None

    @property
    def _names_a_folder(self) -> bool:
        return self.reference not in (*_REFERENCES, "logged") and Path(self.reference).is_dir()
