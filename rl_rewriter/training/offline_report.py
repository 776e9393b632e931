"""What learning from a log did, for people and for the checkpoint's manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from rl_rewriter.logs.columns import numbered
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.training.ladder.report import LadderReport

Values = npt.NDArray[np.float64]

FEW_RECORDS = 1000
"""Below this number of decisions a warning is given."""
TWO_SIDED = 1.96
"""Standard errors that a 95% interval reaches to either side."""


@dataclass(frozen=True)
class LogFitReport:
    """How learning from a log went on its held-out records.

    Attributes:
        policy_version: Version of the chosen policy.
        seconds: Wall time by stage: impute, train, blend.
        episodes: Episodes trained on.
        n_records: Decisions learned from and chosen by.
        validation: Estimated mean reward of keep, of the action that is best on the training
            records ("best_fixed") and of the policy, on held-out records: an estimate from what was
            logged, not a truth, and of the policy that looked best there.
        gain_ci95: Interval of the policy's estimated gain over keep on these records.
        beta: Weight of the KL term of the chosen policy.
        kl: KL to the reference, in nats.
        best_fixed: The action that is estimated best for all records alike.
        unsupported: Actions that are unknown or were logged too rarely to be learned about.
        learned: What a judge recognises the decisions by that were learned from: marks of them,
            the time of the latest, and which were held out.
        warnings: What a reader should know.
        effective_records: How many records of equal weight tell as much (Kish, 1965), where old
            ones were forgotten; None where all count alike.
        ladder: How rungs compared by cross-fitting, by the credit of documents; None where no blend
            is served. The values above are then by credit too.
        credit_explained: Share of the rewards' variance that credit explains of rewards left out.
    """

    policy_version: str
    seconds: Mapping[str, float]
    episodes: int
    n_records: int
    validation: Mapping[str, float]
    gain_ci95: tuple[float, float]
    beta: float
    kl: float
    best_fixed: str
    unsupported: tuple[str, ...]
    learned: Mapping[str, object]
    warnings: tuple[str, ...] = ()
    effective_records: float | None = None
    ladder: LadderReport | None = None
    credit_explained: float | None = None

    def to_json(self) -> dict[str, object]:
        """All of it, for a manifest."""
        return asdict(self)


def interval_of_gain(
    gains: Values, groups: Sequence[str], weights: Values | None = None
) -> tuple[float, float]:
    """95% interval of a mean gain ``(n,)`` whose rows come in groups (normal, cluster-robust).

    Args:
        gains: One a row.
        groups: Their names.
        weights: What each row counts for, ``(n,)``; all alike by default.
    """
    mean = float(np.average(gains, weights=weights))
    counts = np.ones(len(gains)) if weights is None else weights
    sums = np.bincount(numbered(groups), weights=counts * (gains - mean))
    reach = TWO_SIDED * float(np.sqrt(np.square(sums).sum())) / float(counts.sum())
    return mean - reach, mean + reach


def widest_interval(
    gains: Values, groupings: Sequence[Sequence[str]], weights: Values | None = None
) -> tuple[float, float]:
    """The widest of the intervals by several groupings of the same rows.

    Args:
        gains: One a row, ``(n,)``.
        groupings: Of each, the names of the rows' groups, such as conversations and queries: rows
            of one query are no new evidence, in however many conversations it was asked.
        weights: What each row counts for, ``(n,)``; all alike by default.
    """
    found = (interval_of_gain(gains, groups, weights) for groups in groupings)
    return max(found, key=lambda interval: interval[1] - interval[0])


def offline_warnings(
    n_records: int,
    without_propensity: int,
    unsupported: Sequence[str],
    statistics: CollectionStatistics,
    gain_ci95: tuple[float, float],
    effective: float | None = None,
) -> tuple[str, ...]:
    """What a reader should know before relying on the policy."""
    found = []
    if n_records < FEW_RECORDS:
        found.append(
            f"only {n_records} usable decisions: the policy may follow their accidents; collect at "
            f"least {FEW_RECORDS}"
        )
    elif effective is not None and effective < FEW_RECORDS:
        found.append(
            f"forgetting leaves {n_records} decisions with the weight of {effective:.0f}: the "
            "policy may follow their accidents; take a longer half-life"
        )
    if without_propensity:
        found.append(
            f"{without_propensity} decisions have no propensity: what else would have come of them "
            "is predicted, and nothing corrects the prediction"
        )
    if unsupported:
        found.append(
            f"{len(unsupported)} actions are unknown or were logged too rarely to be learned "
            f"about, such as {unsupported[0]!r}"
        )
    if not statistics.n_documents:
        found.append(
            "the collection's term weights aren't known: name the collection, or a policy that was "
            "made over it, lest actions on words see every term as equally rare"
        )
    if gain_ci95[0] <= 0:
        found.append(no_gain_shown(gain_ci95))
    return tuple(found)


def no_gain_shown(gain_ci95: tuple[float, float] | None) -> str:
    """The warning about a gain that may be none, or how all such warnings begin."""
    start = "no gain is shown on the held-out records"
    if gain_ci95 is None:
        return start
    return (
        f"{start}: the policy is {sum(gain_ci95) / 2:+.3f} over keep there (95% interval "
        f"{gain_ci95[0]:+.3f} to {gain_ci95[1]:+.3f})"
    )
