"""Policies trained on the folds of a comparison: in several processes, and kept on disk."""

from __future__ import annotations

import importlib.util
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import rl_rewriter
from rl_rewriter.actions.blend import LearnedBlend
from rl_rewriter.actions.keep import Keep
from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.benchmark.comparison.workers import Workers
from rl_rewriter.envs.table import RewardTable
from rl_rewriter.errors import CheckpointError, MissingExtraError
from rl_rewriter.features.feature_set import FeatureSet
from rl_rewriter.policies.categorical import Categorical
from rl_rewriter.policies.learned_actions import blend_arrays, restored_blends
from rl_rewriter.policies.mlp import MlpPolicy
from rl_rewriter.policies.protocols import Mask
from rl_rewriter.text.digests import digest
from rl_rewriter.training.blend.pools import Pools
from rl_rewriter.training.config import FitConfig
from rl_rewriter.types import Matrix, OnProgress

_SCHEMA = 9
Look = Mapping[str, float]


@dataclass(frozen=True, eq=False, kw_only=True)
class FitTask:
    """One policy to be trained.

    Attributes:
        fold: Number of the fold whose queries are held out.
        table: Outcomes on the other queries, with raw states.
        groups: What each of those belongs to.
        features: What the states are made of, not fitted.
        config: Settings, with this policy's seed.
        pools: What a blend is trained on; None where none is learned.
    """

    fold: int
    table: RewardTable
    groups: tuple[str, ...]
    features: FeatureSet
    config: FitConfig
    pools: Pools | None = None

    @cached_property
    def key(self) -> str:
        """Names all that the policy depends on: equal keys train equal policies."""
        arrays = (self.table.states, self.table.mask, self.table.values, self.table.rewards)
        return digest(
            [
                f"{_SCHEMA}-{rl_rewriter.__version__}",
                json.dumps(asdict(self.config), sort_keys=True, default=str),
                *self.features.columns,
                *self.table.action_names,
                *self.groups,
                *(np.ascontiguousarray(array).tobytes().hex() for array in arrays),
                self.pools.content if self.pools is not None else "",
            ]
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Fit:
    """A trained policy with what its inputs and outputs mean.

    Attributes:
        fold: Number of the fold whose queries it hasn't seen.
        seed: Seed of its training.
        policy: The policy.
        features: Fitted on its training queries.
        action_names: Names of its actions; a blend's comes last.
        blend: The blend that was learned with it, where one is served.
        looks: Metrics at each look at the validation queries.
        seconds: Time that training took.
    """

    fold: int
    seed: int
    policy: MlpPolicy
    features: FeatureSet
    action_names: tuple[str, ...]
    looks: tuple[Look, ...]
    seconds: float
    blend: LearnedBlend | None = None

    def distribution(self, raw_states: Matrix, mask: Mask) -> Categorical:
        """Probabilities of the policy's actions for raw states ``(n, d)``."""
        return self.policy.distribution(self.features.standardised(raw_states), mask)


def fit_all(
    tasks: Sequence[FitTask],
    folder: Path | None,
    *,
    workers: Workers | None = None,
    on_progress: OnProgress | None = None,
) -> list[Fit]:
    """Train what isn't there yet, and return all of it in the order of the tasks.

    A policy is one file, written when it is done: a killed run loses those it was at. They are the
    same whatever the number of workers.

    Args:
        tasks: What to train.
        folder: Where policies are kept; None keeps nothing.
        workers: Who trains; this process by default.
        on_progress: Told how many of the missing ones are done.

    Raises:
        TrainingError: Training diverged.
        MissingExtraError: torch isn't installed.
    """
    fits: dict[int, Fit] = {}
    for position, task in enumerate(tasks):
        known = _load(folder / f"{task.key}.safetensors", task) if folder is not None else None
        if known is not None:
            fits[position] = known
    missing = [position for position in range(len(tasks)) if position not in fits]
    if missing:
        refuse_without_torch()
    trained = (workers or Workers()).run(_fit, [tasks[position] for position in missing])
    for done, (position, fit) in enumerate(trained, start=1):
        task = tasks[missing[position]]
        if folder is not None:
            _save(folder / f"{task.key}.safetensors", fit)
        fits[missing[position]] = fit
        if on_progress is not None:
            on_progress("training policies", done, len(missing))
    return [fits[position] for position in range(len(tasks))]


def refuse_without_torch() -> None:
    """Check that policies can be trained, before hours of work.

    Raises:
        MissingExtraError: torch isn't installed.
    """
    if importlib.util.find_spec("torch") is None:
        raise MissingExtraError("torch", "train")


def _fit(task: FitTask) -> Fit:
    from rl_rewriter.training.by_ladder import fit_by_ladder
    from rl_rewriter.training.on_rows import fit_on_rows, training_rows

    started = time.perf_counter()
    looks: list[Look] = []
    blend = None

    def look(update: int, metrics: Look) -> None:
        looks.append({"update": update, **metrics})

    if task.config.ladder is not None:
        climbed = fit_by_ladder(
            task.table, task.features, task.pools, task.groups, task.config, on_look=look
        )
        found, blend = climbed.fitted, climbed.blend
    else:
        rows = training_rows(task.groups, task.config)
        found = fit_on_rows(task.table, task.features, rows, task.config, on_look=look)
    return Fit(
        fold=task.fold,
        seed=task.config.reinforce.seed,
        policy=found.outcome.policy,
        features=found.features,
        action_names=found.table.action_names,
        looks=tuple(looks),
        seconds=time.perf_counter() - started,
        blend=blend,
    )


def _save(path: Path, fit: Fit) -> None:
    from safetensors.numpy import save

    blends = [] if fit.blend is None else [fit.blend]
    actions = ActionSpace((Keep(), *blends)).to_json()[1:]
    about = {"looks": fit.looks, "seconds": fit.seconds, "learned": actions}
    arrays = {**fit.policy.arrays(), **fit.features.arrays(), **blend_arrays(blends)}
    content = save(
        {name: np.ascontiguousarray(array) for name, array in arrays.items()},
        metadata={"about": json.dumps(about)},
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}-{os.getpid()}")
    temporary.write_bytes(content)
    temporary.replace(path)


def _load(path: Path, task: FitTask) -> Fit | None:
    """What a file holds; None where there is none, or it is damaged: it is trained again."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            about: dict[str, Any] = json.loads(file.metadata()["about"])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # no mapping
        learned = restored_blends(about["learned"], arrays)
        return Fit(
            fold=task.fold,
            seed=task.config.reinforce.seed,
            policy=MlpPolicy.restore(arrays),
            features=replace(
                task.features, mean=arrays["features.mean"], scale=arrays["features.scale"]
            ),
            action_names=(*task.table.action_names, *(blend.name for blend in learned)),
            looks=tuple(about["looks"]),
            seconds=float(about["seconds"]),
            blend=learned[0] if learned else None,
        )
    except (OSError, SafetensorError, CheckpointError, ValueError, KeyError, TypeError):
        return None
