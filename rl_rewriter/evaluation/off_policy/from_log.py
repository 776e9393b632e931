"""From a decision log and a saved policy to what estimators take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import chain
from operator import mul

import numpy as np

from rl_rewriter.errors import InputError
from rl_rewriter.evaluation.off_policy.blends import UNLIKE, BlendsInLog
from rl_rewriter.evaluation.off_policy.gate import Baseline
from rl_rewriter.evaluation.off_policy.sample import LoggedSample, Table, Values
from rl_rewriter.logs.bandit import LoggedBandit
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.policies.protocols import Mask
from rl_rewriter.rewards.group_effects import predicted_with_groups
from rl_rewriter.rewards.outcome_model import OutcomeConfig


@dataclass(frozen=True, eq=False)
class JudgedLog:
    """A log beside policies that know other actions: one numbering of all of them.

    Attributes:
        log: The log.
        action_names: Its actions and then those that only a policy knows, ``m`` in all; keep first.
        seed: Seed of the folds of the reward model.
        independent: Whether records of one conversation count as independent. Intervals are then
            about the conversations of the log; else about new ones, and wider.
        blends: The policies' learned blends. Decisions of one that the log can't speak about have a
            column of their own.
    """

    log: LoggedBandit
    action_names: tuple[str, ...]
    seed: int = 0
    independent: bool = False
    blends: BlendsInLog = field(default_factory=BlendsInLog)

    @classmethod
    def of(
        cls,
        log: LoggedBandit,
        checkpoints: Sequence[Checkpoint],
        *,
        seed: int = 0,
        independent: bool = False,
    ) -> JudgedLog:
        """Check that all policies read the states of a log, and number all actions.

        Args:
            log: The log.
            checkpoints: The policies that are to be judged by it, or against each other.
            seed: Seed of the folds of the reward model.
            independent: Whether records of one conversation count as independent.

        Raises:
            InputError: A policy reads other features than were logged.
        """
        for checkpoint in checkpoints:
            _check_states(log, checkpoint)
        known = [name for checkpoint in checkpoints for name in checkpoint.actions.names]
        blends = BlendsInLog.of(log, checkpoints)
        names = tuple(dict.fromkeys((*log.action_names, *known, *blends.silent)))
        return cls(log, names, seed, independent, blends)

    @cached_property
    def predicted(self) -> Table | None:
        """Cross-fitted rewards, ``(n, m)``, within those seen.

        None where no states were logged, or all records are of one conversation.
        """
        log, groups = self.log, self.log.group_numbers
        if not log.states.shape[1] or len(log) < 2 or (groups is not None and not groups.any()):
            return None
        predicted = predicted_with_groups(
            log.states,
            log.actions,
            log.rewards,
            len(self.action_names),
            groups=groups,
            config=OutcomeConfig(seed=self.seed),
        )
        return np.clip(predicted, log.rewards.min(), log.rewards.max(), out=predicted)

    @cached_property
    def _logging(self) -> Table:
        """Logging distribution, ``(n, m)``; 0 for actions that the log doesn't know."""
        logging = np.zeros((len(self.log), len(self.action_names)))
        logging[:, : len(self.log.action_names)] = self.log.probabilities
        logging[np.isnan(self.log.probabilities).any(axis=1)] = np.nan
        return logging

    def sample_of(self, checkpoint: Checkpoint, *, explore: bool = False) -> LoggedSample:
        """The records beside what a policy would have done, its learned blends' weights included.

        Args:
            checkpoint: The policy.
            explore: As for :meth:`of_policy`.
        """
        sample = self.sample(self.of_policy(checkpoint, explore=explore))
        unlike = [b for b in self.blends.of_policy(checkpoint) if not b.speaks.all()]
        silence = f"among them {unlike[0].whose}, {UNLIKE}" if unlike else ""
        return replace(sample, ratios=self.ratios(checkpoint), silence=silence)

    def baseline(self, name: str, checkpoint: Checkpoint, *, explore: bool = False) -> Baseline:
        """A policy as what candidates have to beat."""
        target = self.of_policy(checkpoint, explore=explore)
        return Baseline(name, target, self.ratios(checkpoint))

    def ratios(self, checkpoint: Checkpoint) -> Values | None:
        """Density ratios of drawn weights under a policy, ``(n,)``; None where there are none."""
        found = [blend.ratios for blend in self.blends.of_policy(checkpoint)]
        known = [ratios for ratios in found if ratios is not None]
        return reduce(mul, known) if known else None

    def notes(self) -> list[str]:
        """What should be known of the policies' learned blends, in sentences."""
        every = chain.from_iterable(self.blends.found.values())
        return [note for blend in every for note in blend.notes()]

    def sample(self, target: Table) -> LoggedSample:
        """The records with the probabilities of a policy, ``(n, m)``."""
        return LoggedSample(
            rewards=self.log.rewards,
            actions=self.log.actions,
            propensities=self.log.propensities,
            target=target,
            logging=self._logging,
            predicted=self.predicted,
            groups=None if self.independent else self.log.group_numbers,
        )

    def keep(self) -> Table:
        """Probabilities of leaving every query alone, ``(n, m)``."""
        target = np.zeros((len(self.log), len(self.action_names)))
        target[:, 0] = 1.0
        return target

    def of_policy(self, checkpoint: Checkpoint, *, explore: bool = False) -> Table:
        """Probabilities with which a policy would have acted on the logged states, ``(n, m)``.

        An action that only the policy knows counts as possible everywhere: what it would do there
        is outside the log, and shall be seen to be.

        Args:
            checkpoint: The policy.
            explore: Its own distribution, as it is served with exploration; by default all is on
                the most probable action, as it is served without.
        """
        columns = [self.action_names.index(name) for name in checkpoint.actions.names]
        mask = self._possible[:, columns]
        mask[:, 0] = True  # a policy's first action is keep, which is always possible
        states = checkpoint.features.standardised(self.log.states)
        distribution = checkpoint.policy.distribution(states, mask)
        target = np.zeros((len(self.log), len(self.action_names)))
        if explore:
            target[:, columns] = distribution.probabilities
        else:
            chosen = np.asarray(columns)[distribution.greedy()]
            target[np.arange(len(target)), chosen] = 1.0
        for found in self.blends.of_policy(checkpoint):
            if not found.speaks.all():
                here = self.action_names.index(found.blend.name)
                there = self.action_names.index(found.name)
                target[:, there] = np.where(found.speaks, 0.0, target[:, here])
                target[:, here] -= target[:, there]
        return target

    @cached_property
    def _possible(self) -> Mask:
        possible = np.ones((len(self.log), len(self.action_names)), dtype=np.bool_)
        possible[:, : len(self.log.action_names)] = self.log.mask
        return possible


def _check_states(log: LoggedBandit, checkpoint: Checkpoint) -> None:
    wanted = checkpoint.features.fingerprint
    if log.columns_fingerprint == wanted and log.states.shape[1]:
        return
    if not log.states.shape[1]:
        raise InputError(
            "the log holds no states, so what the policy would have done can't be known: log with "
            "this package's rewriter, which writes them"
        )
    raise InputError(
        f"the log's states are of other features (state_schema {log.columns_fingerprint!r}) than "
        f"the policy reads ({wanted!r}): judge it by a log written with its own features"
    )
