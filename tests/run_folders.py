"""Folders as a benchmark run leaves them, with numbers that a seed makes up."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow
from pyarrow import parquet

from rl_rewriter.evaluation.comparison import compare
from rl_rewriter.evaluation.significance import bootstrap_interval

Record = dict[str, Any]
Column = npt.NDArray[np.float64]

ACTIONS = {
    "keep": (0.0, 0.0),
    "keywords": (-0.03, 0.002),
    "fuse_bm25@0.2": (0.02, 0.004),
    "fuse_bm25@0.4": (0.035, 0.004),
    "move_bm25_3@0.2": (0.015, 0.002),
    "history_each_turn@0.5": (-0.01, 0.006),
    "expand_topics@0.5": (-0.05, 0.003),
    "llm:hyde": (0.02, 0.05),
}
"""What each action does to the metric on average, and what it costs."""
KINDS = ("plain", "typos", "short", "follow-up")
_VERBS = ("return", "cancel", "track", "pay for", "change", "exchange", "insure", "collect")
_THINGS = ("order", "gift card", "subscription", "parcel", "refund", "account", "repair", "coupon")
_TAILS = ("", " from abroad", " without a receipt", " before Christmas", " by phone", " twice")


@dataclass(frozen=True, kw_only=True)
class Made:
    """One collection to make up.

    Attributes:
        name: Its name.
        retriever: What it was searched by.
        n: Held-out queries.
        skill: How well the policy knows which action helps; below 0 it prefers what hurts.
        kinds: Query kinds; none leaves the kind empty.
        hostile: Text that is put into everything that data can fill.
        extra: Keys of the collection's object to put in place of those made; None removes one.
    """

    name: str = "help-centre"
    retriever: str = "chroma"
    n: int = 120
    skill: float = 1.0
    kinds: tuple[str, ...] = KINDS
    hostile: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _World:
    """Values of every action ``(n, m)`` and what the policy chose ``(n,)``."""

    queries: list[str]
    kinds: list[str]
    names: list[str]
    values: Column
    chosen: npt.NDArray[np.intp]
    predicted: Column

    def per_query(self) -> dict[str, Column]:
        rows = np.arange(len(self.queries))
        best = int(self.values.mean(axis=0).argmax())
        return {
            "keep": self.values[:, 0],
            "best_fixed": self.values[:, best],
            "policy": self.values[rows, self.chosen],
            "oracle": self.values.max(axis=1),
            "random": self.values.mean(axis=1),
        }


def write_run_folder(folder: Path, made: Sequence[Made] = (Made(),), *, seed: int = 0) -> Path:
    """Write ``results.json`` and one folder a collection.

    Args:
        folder: The run's folder.
        made: The collections.
        seed: Seed of all numbers.
    """
    records = []
    for number, one in enumerate(made):
        rng = np.random.default_rng([seed, number])
        world = _world(one, rng)
        record = {**_record(one, world), **one.extra}
        records.append({key: value for key, value in record.items() if value is not None})
        home = folder / f"collection-{number}.{one.retriever}"
        home.mkdir(parents=True)
        write_json(home / "record.json", records[-1])
        _write_per_query(home / "per_query.parquet", one, world, rng)
        _write_training(home / "training.jsonl", rng, one.skill)
        write_json(home / "examples.json", _examples(one, world))
    write_json(folder / "results.json", {"schema": 1, "seed": seed, "collections": records})
    return folder


def write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False), "utf-8")


def _world(made: Made, rng: np.random.Generator) -> _World:
    names = [f"{name}{made.hostile}" if name != "keep" else name for name in ACTIONS]
    effects = np.array([effect for effect, _ in ACTIONS.values()])
    hard = rng.beta(0.7, 0.5, size=(made.n, 1))
    true = effects + rng.normal(0, 0.16, size=(made.n, len(names)))
    true[:, 0] = 0.0
    values: Column = np.asarray(np.clip(hard + true, 0.0, 1.0), dtype=np.float64).round(4)
    gains = values - values[:, :1]
    seen = made.skill * gains + rng.normal(0, 0.2, size=gains.shape)
    predicted = 0.3 * seen
    predicted[:, 0] = 0.0
    kinds = [f"{k}{made.hostile}" for k in made.kinds] or [""]
    return _World(
        queries=[_query(rng, made.hostile) for _ in range(made.n)],
        kinds=[kinds[i] for i in rng.integers(len(kinds), size=made.n)],
        names=names,
        values=values,
        chosen=predicted.argmax(axis=1),
        predicted=predicted.max(axis=1),
    )


def _query(rng: np.random.Generator, hostile: str) -> str:
    words = [str(rng.choice(part)) for part in (_VERBS, _THINGS, _TAILS)]
    return f"how do I {words[0]} my {words[1]}{words[2]}?{hostile}"


def _record(made: Made, world: _World) -> Record:
    columns = world.per_query()
    means = {name: float(column.mean()) for name, column in columns.items()}
    best = world.names[int(world.values.mean(axis=0).argmax())]
    share = _share(world.names, world.chosen)
    versus_keep = compare(columns["policy"], columns["keep"])
    versus_fixed = compare(columns["policy"], columns["best_fixed"])
    return {
        "name": f"{made.name}{made.hostile}",
        "n_documents": 186,
        "n_queries": made.n,
        "retriever": f"{made.retriever}{made.hostile}",
        "embedder": f"minilm{made.hostile}",
        "metric": "ndcg@10",
        "protocol": "cv5",
        "actions": dict(zip(world.names, world.values.mean(axis=0).tolist(), strict=True)),
        "best_fixed": {"action": best, "value": means["best_fixed"]},
        "policy": {
            "value": means["policy"],
            "hurt_share": versus_keep.hurt_share,
            "helped_share": versus_keep.helped_share,
            "action_share": share,
            "searches_per_query": 2.4,
            "llm_calls_per_query": 0.1,
        },
        "oracle": means["oracle"],
        "tests": {
            "policy_vs_keep": versus_keep.to_json(),
            "policy_vs_best_fixed": versus_fixed.to_json(),
        },
        "seconds": {"embed": 3.1, "reward_table": 8.2, "train": 61.5, "decide_p50_ms": 1.4},
        "notes": [f"queries without a relevant document were left out{made.hostile}"],
        "seeds": [0, 1, 2],
        "seed_values": [means["policy"] + shift for shift in (-0.004, 0.0, 0.004)],
        "folds": 5,
        "n_train": 4 * made.n,
        "headroom": {
            "verdict": "worth_learning",
            "oracle_corrected": means["keep"] + 0.6 * (means["oracle"] - means["keep"]),
            "predictable": 0.31,
            "differ_share": float((np.ptp(world.values, axis=1) > 0).mean()),
        },
        "arms": _arms(made, world, columns),
        "by_kind": _by_kind(world, columns),
        "calibration": _calibration(world, columns),
    }


def _arms(made: Made, world: _World, columns: Mapping[str, Column]) -> Record:
    costs = [cost for _, cost in ACTIONS.values()]
    arms = {
        name: (world.values[:, i], costs[i], float(name.startswith("llm:")))
        for i, name in enumerate(world.names)
    }
    typical = float(np.mean([costs[i] for i in world.chosen]))
    for name in ("random", "best_fixed", "policy", "oracle"):
        arms[name] = (columns[name], typical, 0.1)
    return {
        name: _arm(f"{name}", values, columns["keep"], cost, calls)
        for name, (values, cost, calls) in arms.items()
    }


def _arm(name: str, values: Column, keep: Column, cost: float, llm_calls: float) -> Record:
    found = compare(values, keep)
    worst = np.sort(values - keep)[: max(1, len(keep) // 10)]
    return {
        "label": name,
        "value": float(values.mean()),
        "ci95": list(bootstrap_interval(values)),
        "metrics": {"ndcg@10": float(values.mean()), "recall@10": float(values.mean() ** 0.5)},
        "hurt_share": found.hurt_share,
        "helped_share": found.helped_share,
        "worst_decile": float(worst.mean()),
        "searches_per_query": 1.0 + 40 * cost,
        "llm_calls_per_query": llm_calls,
        "embedded_per_query": 1.0,
        "cost": cost,
        "versus_keep": None if name == "keep" else {**found.to_json(), "p_t": found.p_value},
    }


def _by_kind(world: _World, columns: Mapping[str, Column]) -> Record:
    kinds = np.asarray(world.kinds, dtype=object)
    return {
        kind: {
            "n": int((kinds == kind).sum()),
            **{
                name: float(columns[name][kinds == kind].mean())
                for name in ("keep", "best_fixed", "policy", "oracle")
            },
            "action_share": _share(world.names, world.chosen[kinds == kind]),
        }
        for kind in sorted(set(world.kinds))
    }


def _calibration(world: _World, columns: Mapping[str, Column]) -> list[Record]:
    gains = columns["policy"] - columns["keep"]
    return [
        {
            "predicted": float(world.predicted[rows].mean()),
            "true": float(gains[rows].mean()),
            "n": len(rows),
            "ci95": list(bootstrap_interval(gains[rows])),
        }
        for rows in np.array_split(np.argsort(world.predicted), min(10, len(gains)))
    ]


def _share(names: list[str], chosen: npt.NDArray[np.intp]) -> dict[str, float]:
    counts = np.bincount(chosen, minlength=len(names)) / len(chosen)
    return {name: float(count) for name, count in zip(names, counts, strict=True) if count}


def _write_per_query(path: Path, made: Made, world: _World, rng: np.random.Generator) -> None:
    n = len(world.queries)
    actions = [world.names[i] for i in world.chosen]
    columns: Record = {
        "query_id": [f"q{i}{made.hostile}" for i in range(n)],
        "query": world.queries,
        "history_len": rng.integers(0, 3, size=n),
        "group": [f"need {i // 4}" for i in range(n)],
        "kind": world.kinds,
        "fold": rng.integers(0, 5, size=n),
        "action": actions,
        "action_probability": rng.uniform(0.3, 1.0, size=n),
        **world.per_query(),
        "predicted_gain": np.where(rng.random(n) < 0.1, np.nan, world.predicted),
        "text": [
            query if action == "keep" else query.removeprefix("how do I ")
            for query, action in zip(world.queries, actions, strict=True)
        ],
        "searches": rng.integers(1, 4, size=n),
        "embedded": rng.integers(0, 2, size=n),
        "llm_calls": np.zeros(n, dtype=np.int64),
    }
    parquet.write_table(pyarrow.table(columns), path)


def _write_training(path: Path, rng: np.random.Generator, skill: float) -> None:
    lines = []
    for fold in range(5):
        for seed in range(3):
            top, speed = 0.06 * skill + rng.normal(0, 0.01), rng.uniform(200, 400)
            for update in range(50, 1501, 50):
                grown = 1 - np.exp(-update / speed)
                lines.append(
                    {
                        "fold": fold,
                        "seed": seed,
                        "update": update,
                        "reward": float(top * grown + rng.normal(0, 0.004)),
                        "kl": float(3.5 * grown + rng.normal(0, 0.1)),
                        "entropy": float(2 - 1.5 * grown),
                        "loss": float(rng.normal()),
                    }
                )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def _examples(made: Made, world: _World, count: int = 6) -> Record:
    columns = world.per_query()
    gains = columns["policy"] - columns["keep"]
    order = np.argsort(-gains, kind="stable")

    def example(row: int) -> Record:
        return {
            "query_id": f"q{row}",
            "query": world.queries[row],
            "history": [
                {"role": "user", "text": f"hello, I bought something{made.hostile}"},
                {"role": "assistant", "text": "How can I help?"},
            ][: 2 * (row % 2)],
            "kind": world.kinds[row],
            "action": world.names[world.chosen[row]],
            "texts": [world.queries[row].removeprefix("how do I "), world.queries[row]],
            "weights": [0.4, 0.6],
            "moved": bool(row % 3 == 0),
            "lexical_weight": 0.4,
            "keep": float(columns["keep"][row]),
            "policy": float(columns["policy"][row]),
            "keep_documents": _documents(made, 0),
            "policy_documents": _documents(made, 1),
        }

    return {
        "helped": [example(int(row)) for row in order[:count] if gains[row] > 0],
        "hurt": [example(int(row)) for row in order[::-1][:count] if gains[row] < 0],
    }


def _documents(made: Made, relevant: int) -> list[Record]:
    return [
        {
            "id": f"article-{rank}{made.hostile}",
            "score": 0.9 - 0.1 * rank,
            "grade": 1.0 if rank == relevant else None,
            "text": f"Returns and refunds, part {rank}. Send it back within 30 days.{made.hostile}",
        }
        for rank in range(3)
    ]
