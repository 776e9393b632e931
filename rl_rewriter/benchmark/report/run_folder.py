"""A run's folder as the report reads it: what is missing is None, what is malformed an error."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rl_rewriter.benchmark.report.examples import Examples, read_examples
from rl_rewriter.benchmark.report.fields import read_object
from rl_rewriter.benchmark.report.looks import Curve, read_curves
from rl_rewriter.benchmark.report.per_query import PerQuery, read_per_query
from rl_rewriter.benchmark.report.read_record import read_record
from rl_rewriter.benchmark.report.record import Record
from rl_rewriter.errors import InputError

SCHEMA = 1


@dataclass(frozen=True, eq=False)
class Collection:
    """What a run left about one collection.

    Attributes:
        record: Its object of ``results.json``.
        per_query: Values of each held-out query.
        curves: Its training runs.
        examples: Queries most helped and most hurt.
    """

    record: Record
    per_query: PerQuery | None = None
    curves: tuple[Curve, ...] = ()
    examples: Examples | None = None


@dataclass(frozen=True, eq=False)
class Run:
    """A whole run.

    Attributes:
        name: The folder's name.
        seed: The seed of the run.
        collections: In the order of ``results.json``.
    """

    name: str
    seed: int | None
    collections: tuple[Collection, ...]


def read_run(folder: Path) -> Run:
    """Read what ``benchmark``, ``demo`` or ``evaluate --out`` wrote.

    Raises:
        InputError: There is no ``results.json``, or a file is malformed; the text names the place.
        MissingExtraError: pyarrow isn't installed.
    """
    results = read_object(folder / "results.json")
    if results is None:
        raise InputError(
            f"there is no results.json in {folder}; give the folder that benchmark, demo or "
            "evaluate --out wrote"
        )
    schema = results.number("schema")
    if schema != SCHEMA:
        raise InputError(
            f"{results.file}: schema must be {SCHEMA}, got {results.values.get('schema')!r}; "
            "use the version of rl-rewriter that wrote it"
        )
    records = [read_record(fields) for fields in results.children("collections")]
    if not records:
        raise InputError(f"{results.file} holds no collection; there is nothing to report")
    homes = _homes(folder)
    shared = sorted((folder / "training").glob("*.jsonl")) if len(records) == 1 else []
    return Run(
        name=folder.resolve().name,
        seed=results.count("seed"),
        collections=tuple(_collection(record, homes, shared) for record in records),
    )


def _homes(folder: Path) -> dict[tuple[str, ...], Path]:
    """Folders of collections by what their record says that they are, else by their name."""
    homes: dict[tuple[str, ...], Path] = {}
    for path in sorted(path for path in folder.iterdir() if path.is_dir()):
        fields = read_object(path / "record.json")
        homes[_identity(read_record(fields)) if fields else (path.name,)] = path
    return homes


def _identity(record: Record) -> tuple[str, ...]:
    """What tells one collection of a run from another, and from what an older run left behind."""
    numbers = {**record.counts, **record.values}
    return (
        record.name,
        record.retriever,
        record.facts.get("embedder", ""),
        *(f"{name} {number}" for name, number in sorted(numbers.items())),
    )


def _collection(
    record: Record, homes: dict[tuple[str, ...], Path], shared: list[Path]
) -> Collection:
    home = homes.get(_identity(record)) or homes.get((f"{record.name}.{record.retriever}",))
    if home is None:
        return Collection(record, curves=read_curves(shared))
    own = home / "training.jsonl"
    return Collection(
        record,
        per_query=read_per_query(home / "per_query.parquet"),
        curves=read_curves([own] if own.exists() else shared),
        examples=read_examples(home / "examples.json"),
    )
