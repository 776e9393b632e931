"""Finds when a stream of rewards changed, with a known bound on false alarms."""

from __future__ import annotations

import copy
import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

_BETS = np.asarray([-0.9, -0.6, -0.3, -0.1, 0.1, 0.3, 0.6, 0.9])
_BATCH = 50
_CELLS = 2048
_MOST_BLOCKS = 1024
_LARGEST = 1e100
"""Rewards beyond this are taken for it in means."""
LEAST_STREAM = 10_000


@dataclass(frozen=True)
class RewardChange:
    """The likeliest change of a stream.

    Attributes:
        since: Time from which rewards were others, in seconds since the epoch: the division into
            two means with the least squared error (Hinkley, 1970).
        until: Time at which it was clearest: the present where it lasts, else its end.
        n_after: Rewards between these two.
        before: Mean reward before it.
        after: Mean reward from then until it was clearest.
        deviation: Standard deviation before it.
        log_evidence: Logarithm of the detector's value there; false alarms reach ``a`` with a
            chance of at most ``n / a`` among ``n`` rewards.
        is_certain: Whether that is enough.
    """

    since: float
    until: float
    n_after: int
    before: float
    after: float
    deviation: float
    log_evidence: float
    is_certain: bool

    @property
    def size(self) -> float:
        """Change in standard deviations; negative for a fall."""
        return (self.after - self.before) / self.deviation if self.deviation else 0.0

    def to_json(self) -> dict[str, Any]:
        """All of it, with its size."""
        return asdict(self) | {"size": self.size}


class RewardDetector:
    """A conformal e-detector: rewards come, and a change of their distribution shows.

    Each reward's rank among all before it, ties broken at random, is a p-value; as long as rewards
    are exchangeable these are independent and uniform whatever the distribution of the rewards is
    (Vovk, Nouretdinov and Gammerman, Testing exchangeability on-line, 2003), so that nobody has to
    know it. ``e = 1 + 2 l (p - 1/2)`` bets on falls (``l < 0``) or rises, and

    ``R_t = (R_{t-1} + 1) e_t``, averaged over the bets ``l``,

    is a Shiryaev-Roberts e-detector (Shin, Ramdas and Rinaldo, E-detectors, 2022): ``R_t - t`` is a
    martingale, hence the mean number of rewards to the first false ``R_t >= a`` is at least ``a``,
    and among ``n`` rewards there is one with a chance of at most ``n / a``. Rewards that come in
    conversations aren't exchangeable: feed one value a conversation.

    Args:
        level: Largest chance of a false alarm among the rewards so far, or among the first ten
            thousand where they are fewer, which lets the first one wait for ``10_000 / level``
            rewards in the mean.
        rng: What breaks ties.
    """

    def __init__(self, *, level: float, rng: np.random.Generator) -> None:
        self.n = 0
        self._level, self._rng = level, rng
        self._counts = np.zeros(2 * _CELLS + 1, dtype=np.int64)
        self._logs = np.full(len(_BETS), -np.inf)
        self._blocks = _Blocks()
        self._waiting_rewards: list[float] = []
        self._waiting_times: list[float] = []
        self._clearest = (0.0, 0, math.nan)

    def add(self, rewards: Values, times: Values) -> None:
        """Take in the next rewards ``(n,)`` and the times ``(n,)`` of their decisions."""
        self._waiting_rewards.extend(rewards.tolist())
        self._waiting_times.extend(times.tolist())
        whole = len(self._waiting_rewards) // _BATCH * _BATCH
        for start in range(0, whole, _BATCH):
            self._step(start, start + _BATCH)
        del self._waiting_rewards[:whole], self._waiting_times[:whole]

    def change(self) -> RewardChange | None:
        """The clearest change so far, certain or not; None where nothing hints at one."""
        log_evidence, n, until = self._clearest
        divided = self._blocks.divided(n)
        if divided is None:
            return None
        since, (before, after, deviation), n_after = divided
        threshold = math.log(max(self.n, LEAST_STREAM) / self._level)
        return RewardChange(
            since=since,
            until=until,
            n_after=n_after,
            before=before,
            after=after,
            deviation=deviation,
            log_evidence=log_evidence,
            is_certain=log_evidence >= threshold,
        )

    def copy(self) -> RewardDetector:
        """Another one that goes its own way from here."""
        return copy.deepcopy(self)

    def finish(self) -> None:
        """Count those rewards that don't fill a batch."""
        if self._waiting_rewards:
            self._step(0, len(self._waiting_rewards))
            self._waiting_rewards, self._waiting_times = [], []

    def _step(self, start: int, end: int) -> None:
        rewards = np.asarray(self._waiting_rewards[start:end])
        bets = np.log1p(2.0 * _BETS[:, None] * (self._ranks(rewards) - 0.5)).cumsum(axis=1)
        # R_t = P_t (R_0 + sum_{s <= t} 1 / P_{s-1}), with P the product of the e so far.
        begun = np.concatenate([self._logs[:, None], np.zeros((len(_BETS), 1)), -bets], axis=1)
        path = bets + np.logaddexp.accumulate(begun[:, :-1], axis=1)[:, 1:]
        self._logs = path[:, -1]
        self.n += len(rewards)
        self._blocks.append(rewards, self._waiting_times[start])
        clearest = float(np.logaddexp.reduce(path, axis=0).max()) - math.log(len(_BETS))
        if clearest > self._clearest[0]:
            self._clearest = (clearest, self.n, self._waiting_times[end - 1])

    def _ranks(self, rewards: Values) -> Values:
        """p-values ``(b,)``: ranks among all rewards before and itself, ties broken at random."""
        cells = np.rint(_CELLS * rewards / (1.0 + np.abs(rewards))).astype(np.intp) + _CELLS
        below_or_equal = self._counts.cumsum()
        earlier = np.tri(len(cells), k=-1, dtype=bool)
        less = (cells[None, :] < cells[:, None]) & earlier
        same = (cells[None, :] == cells[:, None]) & earlier
        equal = self._counts[cells] + same.sum(axis=1) + 1
        below = below_or_equal[cells] - self._counts[cells] + less.sum(axis=1)
        seen = self.n + 1 + np.arange(len(cells))
        np.add.at(self._counts, cells, 1)
        return np.asarray((below + self._rng.random(len(cells)) * equal) / seen)


class _Blocks:
    """Sums of consecutive rewards, in at most so many blocks, which grow with the stream."""

    def __init__(self) -> None:
        self._sums: list[Values] = []
        self._times: list[float] = []
        self._size = _BATCH

    def append(self, rewards: Values, time: float) -> None:
        """Add a batch that began at a time."""
        kept = np.clip(rewards, -_LARGEST, _LARGEST)
        batch = np.asarray([len(kept), kept.sum(), (kept**2).sum()])
        if self._sums and self._sums[-1][0] < self._size:
            self._sums[-1] = self._sums[-1] + batch
            return
        if len(self._sums) >= _MOST_BLOCKS:
            pairs = zip(self._sums[::2], self._sums[1::2], strict=True)
            self._sums = [first + second for first, second in pairs]
            self._times = self._times[::2]
            self._size *= 2
        self._sums.append(batch)
        self._times.append(time)

    def divided(self, n: int) -> tuple[float, tuple[float, float, float], int] | None:
        """Where the first ``n`` rewards fall best into two means; None where there is one block.

        Returns:
            The time, both means and the standard deviation of the earlier ones, and how many came
            after it.
        """
        sums = np.asarray(self._sums).reshape(-1, 3).cumsum(axis=0)
        sums = sums[: int(np.searchsorted(sums[:, 0], n)) + 1]
        if len(sums) < 2 or not n:
            return None
        before, after = sums[:-1], sums[-1] - sums[:-1]
        means = before[:, 1] / before[:, 0], after[:, 1] / after[:, 0]
        weights = before[:, 0] * after[:, 0] / sums[-1, 0]
        place = int((weights * (means[1] - means[0]) ** 2).argmax())
        mean = float(means[0][place])
        variance = float(before[place, 2] / before[place, 0]) - mean**2
        deviation = math.sqrt(max(0.0, variance))
        return (
            self._times[place + 1],
            (mean, float(means[1][place]), deviation),
            int(after[place, 0]),
        )
