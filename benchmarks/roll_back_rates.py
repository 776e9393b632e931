"""How often live rewards roll an equal policy back, and how soon a worse one.

Simulated rollouts of 20,000 sessions that are looked at every 50 sessions, with the default rule
(``rl_rewriter/rollout/roll_back.py``): at least 100 sessions of each side, alpha of .05 over all
looks. Rewards are graded (a beta distribution of mean .4), binary (.4 of sessions satisfied), rare
(.02 of them) or drifting (graded, by a level that rises and falls between half and all, over a
share that is raised from .1 to .5 half-way). "Full" is a policy that all sessions get, after 2,000
sessions of its baseline. Columns are shares of runs that were rolled back, and the median number of
sessions, of both sides, after which that happened, ``-`` where most runs weren't rolled back. Run
it from the repository root: ``python -m benchmarks.roll_back_rates``.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from benchmarks._support import print_table
from rl_rewriter.rollout.comparison import BeforeAndAfter, Comparison, SideBySide
from rl_rewriter.rollout.roll_back import RollBackConfig, judge

Kind = Literal["graded", "binary", "rare", "drifting"]
N_SESSIONS = 20_000
N_BEFORE = 2_000
EVERY = 50
SHARES = (0.1, 0.5, 1.0)
EFFECTS: Mapping[str, float] = {"equal": 0.0, "5% worse": 0.05, "10% worse": 0.1, "20% worse": 0.2}
Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    """One line of the table; a share of 1 is a full rollout."""

    kind: Kind
    share: float


@dataclass(frozen=True)
class Found:
    """Of the runs of one effect.

    Attributes:
        rolled_back: Share of them.
        sessions: Median number of sessions until then; None where most weren't.
    """

    rolled_back: float
    sessions: float | None

    @property
    def in_words(self) -> str:
        """Both, for a cell of the table."""
        after = "-" if self.sessions is None else f"{self.sessions:,.0f}"
        return f"{100 * self.rolled_back:.1f}% {after}"


def rewards(kind: Kind, lowered: Values, rng: np.random.Generator) -> Values:
    """Rewards of sessions in order, ``(n,)``.

    Args:
        kind: Their distribution.
        lowered: What each one's mean is multiplied by, ``(n,)``.
        rng: Chance.
    """
    n = len(lowered)
    if kind in ("binary", "rare"):
        return (rng.random(n) < lowered * (0.4 if kind == "binary" else 0.02)).astype(np.float64)
    graded = rng.beta(2.0, 3.0, size=n) * lowered
    if kind == "drifting":
        graded *= 0.75 + 0.25 * np.cos(np.arange(n) * (2.0 * np.pi / 3_000.0))
    return np.asarray(graded)


def run(setting: Setting, loss: float, rng: np.random.Generator) -> int | None:
    """Sessions until one rollout was rolled back; None where it wasn't."""
    config, seen = RollBackConfig(), comparison(setting, rng)
    shares = np.full(N_SESSIONS, setting.share)
    if setting.kind == "drifting" and setting.share < 0.5:
        shares[N_SESSIONS // 2 :] = 0.5
    is_candidate = rng.random(N_SESSIONS) < shares
    earned = rewards(setting.kind, np.where(is_candidate, 1.0 - loss, 1.0), rng)
    rows = zip(earned.tolist(), shares.tolist(), is_candidate.tolist(), strict=True)
    for number, (reward, share, candidate) in enumerate(rows, start=1):
        seen.add(reward, share, is_candidate=candidate)
        if number % EVERY == 0 and judge(seen, config).rolls_back:
            return number
    return None


def comparison(setting: Setting, rng: np.random.Generator) -> Comparison:
    """What a rollout begins with: nothing, or the sessions before it."""
    if setting.share < 1.0:
        return SideBySide()
    seen = BeforeAndAfter()
    for reward in rewards(setting.kind, np.ones(N_BEFORE), rng).tolist():
        seen.add(reward, 1.0, is_candidate=False)
    return seen


def measure(setting: Setting, runs: int) -> list[Found]:
    """All effects of one setting; an equal policy gets three times as many runs."""
    found = []
    for number, (name, loss) in enumerate(EFFECTS.items()):
        key = (get_args(Kind).index(setting.kind), round(10 * setting.share), number)
        n_runs = 3 * runs if name == "equal" else runs
        ends = [run(setting, loss, np.random.default_rng((*key, n))) for n in range(n_runs)]
        done = [end for end in ends if end is not None]
        median = statistics.median(end or N_SESSIONS + 1 for end in ends)
        share = len(done) / n_runs
        found.append(Found(share, median if median <= N_SESSIONS else None))
    return found


def main() -> None:
    """Measure on all cores and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=100, help="runs an effect; 3 times for equal")
    runs = parser.parse_args().runs
    settings = [
        Setting(kind, share)
        for kind, share in itertools.product(get_args(Kind), SHARES)
        if not (kind == "drifting" and share == 1.0)  # what drifts can't be compared with before
    ]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        lines = list(pool.map(measure, settings, itertools.repeat(runs)))
    print(
        f"{N_SESSIONS:,} sessions looked at every {EVERY}; percent of {3 * runs} runs (equal) and "
        f"of {runs} runs rolled back, with the median number of sessions until then"
    )
    rows: list[list[object]] = []
    for setting, found in zip(settings, lines, strict=True):
        stage = "full" if setting.share == 1.0 else f"canary {setting.share:g}"
        cells = [one.in_words for one in found]
        rows.append([setting.kind, stage, *cells])
    print_table(["rewards", "stage", *EFFECTS], rows)
    equal = [found[0].rolled_back for found in lines]
    print(
        f"equal policies rolled back: {100 * statistics.fmean(equal):.1f}% over all lines, "
        f"{100 * max(equal):.1f}% at most"
    )


if __name__ == "__main__":
    main()
