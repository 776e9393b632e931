"""What a log can say of a policy's learned blend, whose weights may be others than those logged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rl_rewriter.actions.blend import LearnedBlend
from rl_rewriter.actions.blend_logits import Logits
from rl_rewriter.evaluation.off_policy.sample import Values
from rl_rewriter.logs.bandit import LoggedBandit
from rl_rewriter.logs.drawn import has_draw
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.policies.gaussian import GaussianLogits, centre_of

Rows = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class BlendInLog:
    """One learned blend of a policy beside the blend of the same name that was logged.

    Where weights were drawn, with a standard deviation ``sigma`` of their logits, the blend counts
    as a Gaussian of the same ``sigma`` around its own logits: the importance weight of a record is
    multiplied by the ratio of the two densities (a Gaussian kernel as wide as what was drawn:
    Kallus and Zhou, "Policy evaluation and optimization with continuous treatments", 2018). Where
    none were drawn, a blend of the same numbers did what this one would do, and one of other
    numbers tells nothing of it.

    Attributes:
        log: The log.
        blend: The policy's action.
        policy_version: The policy's version.
        known: Other policies whose versions the log may name.
    """

    log: LoggedBandit
    blend: LearnedBlend
    policy_version: str
    known: Sequence[Checkpoint] = ()

    @property
    def name(self) -> str:
        """Names decisions of this blend that the log can't speak about."""
        return f"{self.blend.name} {self.blend.head.version}"

    @cached_property
    def speaks(self) -> Rows:
        """Where the log could speak of this blend if its action was taken, ``(n,)``.

        So it does where that action had no chance, which estimators see for themselves.
        """
        codes, own = self._versions
        same = (codes == own) & ~(self._drawn & ~self._fits)
        wrong = {*codes[self._drawn & ~self._fits].tolist()}
        right = {*codes[self._drawn & self._fits].tolist()} - wrong
        return np.asarray(same | (self._draws & np.isin(codes, list(right))) | ~self._could)

    @cached_property
    def ratios(self) -> Values | None:
        """Density of the drawn weights under this blend over that under the logged one, ``(n,)``.

        1 where none were drawn; None where none of the log were.
        """
        rows = np.flatnonzero(self._drawn & self._fits & self.speaks)
        logits, log_densities, sigmas = self._logits, self.log.log_densities, self.log.sigmas
        if logits is None or log_densities is None or sigmas is None or not len(rows):
            return None
        drawn = logits[rows]
        centre = centre_of(self.blend.head, self.log.states[rows], np.isfinite(drawn))
        found = GaussianLogits(centre, sigmas[rows]).log_prob(drawn)
        ratios = np.ones(len(self.log))
        ratios[rows] = np.exp(found - log_densities[rows])
        return ratios

    def notes(self) -> list[str]:
        """What should be known before believing an estimate, in sentences."""
        found = []
        if not self.speaks.all():
            share = 1.0 - self.speaks.mean()
            found.append(f"{share:.0%} of the records say nothing of {self.whose}, {UNLIKE}")
        if self.ratios is not None:
            found.append(
                f"{self.whose} is judged with weights drawn around its own, as those of the log "
                "were; dm doesn't see weights and predicts what the logged ones earned"
            )
        return found

    @property
    def whose(self) -> str:
        """Names blend and policy in a sentence."""
        return f"the blend {self.blend.name!r} of policy {self.policy_version}"

    @cached_property
    def _versions(self) -> tuple[npt.NDArray[np.intp], int]:
        """Number of the version of each row's logged blend of this name, ``(n,)``; and of its own.

        Unknown versions have the number 0.
        """
        name, n = self.blend.name, len(self.log)
        of_policy = {policy.version: policy.blend_versions.get(name, "") for policy in self.known}
        of_policy[self.policy_version] = self.blend.head.version
        told, policies = self.log.blends or ({},) * n, self.log.policy_versions or ("",) * n
        numbers = {"": 0}
        codes = [
            numbers.setdefault(blends.get(name) or of_policy.get(policy, ""), len(numbers))
            for blends, policy in zip(told, policies, strict=True)
        ]
        own = numbers.get(self.blend.head.version, -1)
        return np.asarray(codes, dtype=np.intp), own

    @cached_property
    def _logits(self) -> Logits | None:
        """Drawn logits of this blend's views, ``(n, v)``; None where it has other ones."""
        logits, views = self.log.drawn_logits, self.log.views
        own = self.blend.head.views
        if logits is None or not {*own} <= {*views}:
            return None
        return logits[:, [views.index(view) for view in own]]

    @cached_property
    def _fits(self) -> Rows:
        """Where weights of exactly this blend's views were drawn, ``(n,)``."""
        logits, own = self.log.drawn_logits, self._logits
        if logits is None or own is None:
            return np.zeros(len(self.log), dtype=np.bool_)
        n_own, n_all = (np.sum(~np.isnan(of), axis=1) for of in (own, logits))
        return np.asarray((n_own == len(self.blend.head.views)) & (n_all == n_own))

    @cached_property
    def _drawn(self) -> Rows:
        """Where this action was taken with drawn weights, ``(n,)``."""
        if self.log.drawn_logits is None:
            return np.zeros(len(self.log), dtype=np.bool_)
        return self._is_taken & has_draw(self.log.drawn_logits)

    @cached_property
    def _draws(self) -> Rows:
        """Where weights were drawn, or would have been if this action was taken, ``(n,)``."""
        if self.log.sigmas is None:
            return np.zeros(len(self.log), dtype=np.bool_)
        return np.where(self._is_taken, self._drawn, ~np.isnan(self.log.sigmas))

    @cached_property
    def _is_taken(self) -> Rows:
        return np.asarray(self.log.actions == self._place)

    @cached_property
    def _could(self) -> Rows:
        """Where an action of this name was possible, ``(n,)``."""
        if self._place < 0:
            return np.zeros(len(self.log), dtype=np.bool_)
        return self.log.mask[:, self._place]

    @cached_property
    def _place(self) -> int:
        names = self.log.action_names
        return names.index(self.blend.name) if self.blend.name in names else -1


UNLIKE = (
    "whose numbers or views aren't known to be those of the blend that was logged there: log with "
    "Exploration(sigma=...), which draws weights, to compare blends"
)


@dataclass(frozen=True, eq=False)
class BlendsInLog:
    """All learned blends of all policies that a log is asked about.

    Attributes:
        found: Policy version -> its blends.
    """

    found: dict[str, tuple[BlendInLog, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, log: LoggedBandit, checkpoints: Sequence[Checkpoint]) -> BlendsInLog:
        """Compare the blends of policies with those of a log."""
        return cls(
            {
                policy.version: tuple(
                    BlendInLog(log, blend, policy.version, checkpoints) for blend in policy.blends
                )
                for policy in checkpoints
            }
        )

    def of_policy(self, checkpoint: Checkpoint) -> tuple[BlendInLog, ...]:
        """The blends of one policy."""
        return self.found.get(checkpoint.version, ())

    @property
    def silent(self) -> tuple[str, ...]:
        """Names of blends that some record says nothing of."""
        every = (blend for blends in self.found.values() for blend in blends)
        return tuple(dict.fromkeys(blend.name for blend in every if not blend.speaks.all()))
