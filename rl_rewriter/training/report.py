"""What a fit did, for people and for the checkpoint's manifest."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from importlib import metadata
from typing import Any

from rl_rewriter.envs.table import RewardTable
from rl_rewriter.retrieval.protocols import Retriever
from rl_rewriter.training.config import FitConfig
from rl_rewriter.training.ladder.report import LadderReport

FEW_QUERIES = 100
"""Below this number of training queries a warning is given."""


@dataclass(frozen=True)
class FitReport:
    """How a fit went on its validation queries.

    Attributes:
        policy_version: Version of the chosen policy.
        seconds: Wall time by stage: statistics, reward_table, train.
        episodes: One-step episodes that the policy was trained on; none where it mostly takes one
            action, which may be a blend.
        n_train: Queries trained on.
        validation: Mean metric of keep, of the best single action (chosen on the training queries)
            and of the policy, on the validation queries; cross-fitted where a blend, or what stands
            instead, is served.
        best_fixed: Name of the action that is best on all queries seen, validation included: the
            strongest single action to compare with on held-out queries.
        kl: KL to the reference at the chosen update, in nats.
        chosen_update: The update whose policy was kept.
        seen: Fingerprints of the queries seen in training or validation.
        table: Outcome of every action on these queries; cross-fitted for a learned blend.
        ladder: How its rungs compared, a blend's among them where there is one; None where a policy
            was trained without one.
        warnings: What a reader should know.
    """

    policy_version: str
    seconds: Mapping[str, float]
    episodes: int
    n_train: int
    validation: Mapping[str, float]
    best_fixed: str
    kl: float
    chosen_update: int
    seen: tuple[str, ...]
    table: RewardTable = field(repr=False)
    ladder: LadderReport | None = None
    warnings: tuple[str, ...] = ()

    @property
    def algorithm(self) -> str:
        """What made the policy: REINFORCE, or cross-fitting where no network was taken."""
        return "reinforce" if self.episodes else "cross-fitting"


def fit_warnings(n_train: int, validation: Mapping[str, float]) -> tuple[str, ...]:
    """What a reader should know before relying on the policy."""
    found = []
    if n_train < FEW_QUERIES:
        found.append(
            f"only {n_train} training queries: the policy may follow their accidents; "
            f"judge at least {FEW_QUERIES}"
        )
    if validation["policy"] <= validation["keep"]:
        found.append("the policy is not above keep on the validation queries")
    elif validation["policy"] < validation["best_fixed"]:
        found.append("the policy is below the best single action on the validation queries")
    return tuple(found)


def training_summary(config: FitConfig, report: FitReport, retriever: Retriever) -> dict[str, Any]:
    """Settings, results and versions, for a manifest."""
    told = {f.name: getattr(report, f.name) for f in fields(report) if f.name != "table"}
    results = {**told, "ladder": asdict(report.ladder) if report.ladder is not None else None}
    return {
        "algorithm": report.algorithm,
        "retriever": retriever.name,
        "offers": retriever.offers.value,
        "settings": {
            "reinforce": asdict(config.reinforce),
            "reward": config.reward.to_json(),
            "reference": config.reference,
            "reference_probability": config.reference_probability,
            "validation_share": config.validation_share,
            "embedding_components": config.embedding_components,
            **climbing_settings(config),
        },
        "versions": versions(),
        **results,
    }


def climbing_settings(config: FitConfig) -> dict[str, Any]:
    """Settings of the ladder and of the blend on it, for a manifest."""
    return {
        "ladder": asdict(config.ladder) if config.ladder is not None else None,
        "blend": config.blend.to_json() if config.blend is not None else None,
    }


def versions() -> dict[str, str]:
    """Versions of what a policy was made with."""
    found = {"python": platform.python_version()}
    for package in ("rl-rewriter", "numpy", "torch", "bm25s", "chromadb"):
        with suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found
