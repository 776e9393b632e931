"""What a policy gains over its baseline, from sessions that come one by one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Protocol

from rl_rewriter.rollout.bounds import AlwaysValid, RunningMean

_PRIOR = 10.0
"""Sessions that an arm's running mean is drawn toward the other's by, so that it begins calm."""


@dataclass(frozen=True)
class Gain:
    """Mean reward of the candidate less that of the baseline.

    Attributes:
        value: As observed.
        lower: It lies above this, at all looks together with probability ``1 - alpha``.
        upper: It lies below this, likewise.
    """

    value: float
    lower: float
    upper: float


class Comparison(Protocol):
    """Gathers sessions of two sides."""

    candidate: RunningMean
    baseline: RunningMean

    def add(self, reward: float, share: float, *, is_candidate: bool) -> None:
        """Take in one session."""
        ...

    def gain(self, bounds: AlwaysValid) -> Gain:
        """The gain so far, and between what it lies."""
        ...


@dataclass
class SideBySide:
    """A canary and the baseline that is served beside it, divided by chance.

    Session ``i`` went to the candidate (``A = 1``) with probability ``p``, its share at that time,
    and earned ``R``. It contributes::

        m1 - m0 + (A / p - (1 - A) / (1 - p)) (R - m_A)

    with the arms' means ``m1`` and ``m0`` over *earlier* sessions: the doubly robust contribution
    to the average effect of a randomised experiment (Waudby-Smith et al. 2021, section 3). Given
    the past, its expectation is the gain at that time, whatever the share is then and however
    rewards drift, since both arms are measured at the same time. So a share that is raised in
    steps makes one sequence, and quieter hours that happen to fall on one share bend nothing.

    Where rewards are rare, a hundred sessions of a good candidate may hold none, and its own
    deviation would then be 0 and the bound far too sure. So the contributions' deviation is taken
    to be at least what it is where both sides earn alike: ``s / sqrt(p (1 - p))``, with the
    deviation ``s`` of all rewards together.

    Attributes:
        candidate: Of the candidate's sessions.
        baseline: Of the baseline's.
        contributions: Mean and variance of the contributions.
        together: Of the sessions of both sides.
        unevenness: Mean of ``1 / (p (1 - p))``.
    """

    candidate: RunningMean = field(default_factory=RunningMean)
    baseline: RunningMean = field(default_factory=RunningMean)
    contributions: RunningMean = field(default_factory=RunningMean)
    together: RunningMean = field(default_factory=RunningMean)
    unevenness: RunningMean = field(default_factory=RunningMean)

    def add(self, reward: float, share: float, *, is_candidate: bool) -> None:
        """Take in one session.

        Args:
            reward: What it earned.
            share: The candidate's share when the session began, above 0 and below 1.
            is_candidate: Whether it got the candidate.
        """
        m1, m0 = self._expected(self.candidate), self._expected(self.baseline)
        if is_candidate:
            correction = (reward - m1) / share
            self.candidate.add(reward)
        else:
            correction = -(reward - m0) / (1.0 - share)
            self.baseline.add(reward)
        self.contributions.add(m1 - m0 + correction)
        self.together.add(reward)
        self.unevenness.add(1.0 / (share * (1.0 - share)))

    def gain(self, bounds: AlwaysValid) -> Gain:
        """The gain so far, and between what it lies."""
        seen = self.contributions
        alike = self.together.deviation * math.sqrt(self.unevenness.mean)
        reach = bounds.reach(seen.n, max(seen.deviation, alike))
        return Gain(seen.mean, seen.mean - reach, seen.mean + reach)

    def _expected(self, arm: RunningMean) -> float:
        return (arm.n * arm.mean + _PRIOR * self.together.mean) / (arm.n + _PRIOR)


@dataclass
class BeforeAndAfter:
    """The candidate that all sessions get, against what the baseline earned before.

    Nothing else is measured at the same time, so whatever changed beside the policy (the season,
    the documents, the users) counts for or against it. The sessions before are all there when the
    first one after them counts, so their mean gets an ordinary interval, and the candidate's an
    always-valid one; each may be wrong with half of ``alpha``. As above, neither side's deviation
    is taken to be below that of all rewards together.

    Attributes:
        candidate: Of the candidate's sessions.
        baseline: Of the baseline's, before.
        together: Of the sessions of both sides.
    """

    candidate: RunningMean = field(default_factory=RunningMean)
    baseline: RunningMean = field(default_factory=RunningMean)
    together: RunningMean = field(default_factory=RunningMean)

    def add(self, reward: float, share: float, *, is_candidate: bool) -> None:
        """Take in one session; all of the baseline's come first."""
        (self.candidate if is_candidate else self.baseline).add(reward)
        self.together.add(reward)

    def gain(self, bounds: AlwaysValid) -> Gain:
        """The gain so far, and between what it lies."""
        after = replace(bounds, alpha=bounds.alpha / 2.0)
        n, value = self.baseline.n, self.candidate.mean - self.baseline.mean
        if min(n, self.candidate.n) < 2:
            return Gain(value, -math.inf, math.inf)
        least = self.together.deviation
        quantile = NormalDist().inv_cdf(1.0 - after.alpha)
        reach = quantile * max(self.baseline.deviation, least) / math.sqrt(n)
        reach += after.reach(self.candidate.n, max(self.candidate.deviation, least))
        return Gain(value, value - reach, value + reach)
