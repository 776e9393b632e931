"""The looks at validation queries that were taken during training, as curves."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from rl_rewriter.benchmark.report.fields import Fields, read_lines


@dataclass(frozen=True)
class Look:
    """The policy as it was after an update.

    Attributes:
        update: Number of the update.
        reward: Mean reward on the validation queries.
        kl: Mean KL to the reference policy, in nats.
    """

    update: float
    reward: float | None
    kl: float | None


@dataclass(frozen=True)
class Curve:
    """One training run.

    Attributes:
        name: Fold and seed, or the name of the file.
        looks: In the order of the updates.
    """

    name: str
    looks: tuple[Look, ...]


def read_curves(files: list[Path]) -> tuple[Curve, ...]:
    """Read training metrics in JSON lines: one run a file, or a fold and a seed on each line.

    Keys are "reward" and "kl", or "validation/reward" and "train/kl" as training itself writes
    them. Lines without an update are skipped.

    Raises:
        InputError: A line is malformed.
    """
    runs: dict[str, list[Look]] = defaultdict(list)
    for file in files:
        for line in read_lines(file):
            update = line.number("update")
            if update is not None:
                reward, kl = (
                    _first(line, "reward", "validation/reward"),
                    _first(line, "kl", "train/kl"),
                )
                runs[_name(line, file)].append(Look(update, reward, kl))
    return tuple(
        Curve(name, tuple(sorted(looks, key=lambda look: look.update)))
        for name, looks in runs.items()
    )


def _name(line: Fields, file: Path) -> str:
    parts = [f"{key} {line.values[key]}" for key in ("fold", "seed") if key in line.values]
    return ", ".join(parts) or file.stem


def _first(line: Fields, *keys: str) -> float | None:
    return next((value for key in keys if (value := line.number(key)) is not None), None)
