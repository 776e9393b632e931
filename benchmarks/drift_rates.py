"""How often drift is called where there is none, and how soon it is found where there is.

Columns: two sets of generated decisions with twenty-five features, one in eight with only two
values, and shares of eight actions. "PSI alone" calls an index of .1 (.25) in any column drift, as
is usual; "verdict" is this package's. In conversations of four, all features of a conversation are
alike but for a tenth of the variance. Shifted: one feature by .6 standard deviations.

Rewards: streams of binary thumbs or graded rewards; at a fall the mean drops from .6 by so much
after 3,000 rewards. "One by one" feeds the rewards of a conversation as they are, which the
detector isn't made for; "by conversation" their means. Run it from the repository root:
``python -m benchmarks.drift_rates [REPETITIONS]``.
"""

from __future__ import annotations

import sys
from array import array

import numpy as np
import numpy.typing as npt

from benchmarks._support import print_table
from rl_rewriter.monitoring.drift_report import DriftConfig, Evidence, Side, judge
from rl_rewriter.monitoring.reward_change import RewardDetector
from rl_rewriter.monitoring.seen import Seen
from rl_rewriter.monitoring.shifts import shifts_between

Values = npt.NDArray[np.float64]

REPETITIONS = 200
N_FEATURES, N_ACTIONS = 25, 8
BEFORE, LENGTH = 3_000, 10_000


def decisions(n: int, in_one: int, shift: float, rng: np.random.Generator) -> list[Seen]:
    """Generated decisions, ``in_one`` in a conversation."""
    conversation = np.arange(n) // in_one
    common = rng.standard_normal((n // in_one + 1, N_FEATURES))[conversation]
    own = rng.standard_normal((n, N_FEATURES))
    states = common if in_one == 1 else np.sqrt(0.9) * common + np.sqrt(0.1) * own
    states[:, ::8] = states[:, ::8] > 1.0
    states[:, 1] += shift
    actions = rng.integers(N_ACTIONS, size=n)
    side = int(rng.integers(1 << 60))
    return [
        Seen(
            f"{side}-{row}",
            float(row),
            array("f", states[row].tolist()),
            "",
            f"action {actions[row]}",
            "policy",
            "v",
            f"{side}-{conversation[row]}",
            "",
            0.0,
            (),
        )
        for row in range(n)
    ]


def column_rates(n: int, in_one: int, shift: float, repetitions: int) -> list[float]:
    """Shares of the repetitions: PSI alone above .1, above .25, any certain column, look, act."""
    found = np.zeros(5)
    config = DriftConfig()
    for seed in range(repetitions):
        rng = np.random.default_rng((seed, n, in_one))
        sides = decisions(n, in_one, 0.0, rng), decisions(n, in_one, shift, rng)
        shifts, _ = shifts_between(*sides)
        side = Side("", n, None)
        verdict = judge(Evidence(side, side, shifts, None, 0, ()), config).verdict
        largest = max(s.found.psi for s in shifts)
        certain = any(s.p_holm < config.level for s in shifts)
        found += [largest >= 0.1, largest >= 0.25, certain, verdict == "look", verdict == "act"]
    return [float(share) for share in found / repetitions]


def rewards(kind: str, n: int, fall: float, rng: np.random.Generator) -> Values:
    """A stream whose mean is .6 and falls after ``BEFORE`` rewards."""
    mean = np.where(np.arange(n) < BEFORE, 0.6, 0.6 - fall)
    if kind == "binary":
        return (rng.random(n) < mean).astype(np.float64)
    if kind == "graded":
        return np.asarray(rng.beta(2.0 * mean, 2.0 * (1.0 - mean)))
    # Conversations of four: their members are mostly all good or all bad.
    ease = np.repeat(rng.random(n // 4 + 1), 4)[:n]
    drawn = np.where(rng.random(n) < 0.8, ease, rng.random(n))
    rewards = (drawn < mean).astype(np.float64)
    return rewards if kind == "one by one" else rewards.reshape(-1, 4).mean(axis=1)


def reward_rates(kind: str, fall: float, repetitions: int) -> list[str]:
    """Share with an alarm among all rewards, and rewards until the first one after the fall."""
    early, delays = 0, []
    for seed in range(repetitions):
        rng = np.random.default_rng((seed, 1))
        stream = rewards(kind, LENGTH, fall, rng)
        unit = LENGTH // len(stream)
        alarm = first_alarm(stream, seed) * unit
        if alarm <= (BEFORE if fall else LENGTH):
            early += 1
        elif fall:
            delays.append(alarm - BEFORE)
    found = [d for d in delays if d <= LENGTH - BEFORE]
    if not fall:
        return [f"{early / repetitions:.3f}", "", ""]
    missed = f"{1.0 - len(found) / max(1, len(delays)):.3f}"
    middle = f"{np.median(found):,.0f}" if found else ""
    return [f"{early / repetitions:.3f}", missed, middle]


def first_alarm(stream: Values, seed: int) -> float:
    """Rewards until the detector is certain; infinite where it never is."""
    detector = RewardDetector(level=DriftConfig().level, rng=np.random.default_rng(seed))
    times = np.arange(len(stream), dtype=np.float64)
    for start in range(0, len(stream), 50):
        detector.add(stream[start : start + 50], times[start : start + 50])
        change = detector.change()
        if change is not None and change.is_certain:
            return start + 50.0
    return np.inf


def main() -> None:
    """Run all settings and print."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else REPETITIONS
    rows = []
    for shift in (0.0, 0.6):
        for in_one in (1, 4):
            for n in (300, 1_000, 5_000):
                rates = column_rates(n, in_one, shift, repetitions)
                name = "shifted" if shift else "nothing changed"
                rows.append((name, in_one, f"{n:,}", *(f"{rate:.3f}" for rate in rates)))
    columns = ("columns", "a conversation", "records a side", "PSI alone .1", "PSI alone .25")
    print_table((*columns, "any certain", "look", "act"), rows)
    print()
    rows = [
        (kind, f"{fall:.2f}", *reward_rates(kind, fall, repetitions))
        for kind in ("binary", "graded", "one by one", "by conversation")
        for fall in (0.0, 0.1, 0.2)
    ]
    print_table(("rewards", "fall", "false alarms", "missed", "median delay (rewards)"), rows)


if __name__ == "__main__":
    main()
