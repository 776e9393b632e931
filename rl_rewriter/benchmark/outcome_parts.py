"""Parquet files of outcomes: a row is one action on one query, or one query's features."""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rl_rewriter.envs.outcomes import Outcomes
from rl_rewriter.errors import MissingExtraError
from rl_rewriter.policies.protocols import Mask
from rl_rewriter.rewards.judged import Ranked
from rl_rewriter.rewards.reward import EFFORT, Effort
from rl_rewriter.types import Matrix

_logger = logging.getLogger(__name__)
_CELLS, _FEATURES = "cells", "features"


@dataclass(eq=False)
class Found:
    """What is known of the queries and actions that are asked for.

    Attributes:
        query_keys: The ``n`` queries, each once.
        action_keys: The ``m`` actions.
        has: Which cells were carried out, ``(n, m)``.
        applied: In which of them the action had something to work with, ``(n, m)``.
        ranked: Documents of each cell as positions in ``documents``, ``(n, m, k)``.
        effort: What each action did, ``(n, m, 4)``.
        has_features: Whose features are there, ``(n,)``.
        features: Raw features, ``(n, d)``.
        documents: Id -> position.
    """

    query_keys: Sequence[str]
    action_keys: Sequence[str]
    has: Mask
    applied: Mask
    ranked: Ranked
    effort: Effort
    has_features: npt.NDArray[np.bool_]
    features: Matrix
    documents: dict[str, int] = field(default_factory=dict)

    @classmethod
    def nothing(
        cls, query_keys: Sequence[str], action_keys: Sequence[str], n_columns: int, depth: int
    ) -> Found:
        """Nothing yet."""
        n, m = len(query_keys), len(action_keys)
        return cls(
            query_keys=query_keys,
            action_keys=action_keys,
            has=np.zeros((n, m), dtype=np.bool_),
            applied=np.zeros((n, m), dtype=np.bool_),
            ranked=np.full((n, m, depth), -1, dtype=np.int32),
            effort=np.zeros((n, m, len(EFFORT)), dtype=np.int16),
            has_features=np.zeros(n, dtype=np.bool_),
            features=np.zeros((n, n_columns), dtype=np.float32),
        )

    def add(self, features: Any, cells: Any) -> None:
        """Fill in what tables of features and cells hold of what is asked for."""
        self._add_features(features)
        self._add_cells(cells)

    def _add_features(self, table: Any) -> None:
        rows = _positions(table["query"], self.query_keys)
        values = table["values"].combine_chunks()
        raw = np.asarray(values.flatten(), dtype=np.float32).reshape(-1, self.features.shape[1])
        wanted = rows >= 0
        if wanted.any():
            self.features[rows[wanted]] = raw[wanted]
            self.has_features[rows[wanted]] = True

    def _add_cells(self, table: Any) -> None:
        rows = _positions(table["query"], self.query_keys)
        columns = _positions(table["action"], self.action_keys)
        wanted = (rows >= 0) & (columns >= 0)
        if not wanted.any():
            return
        table = table.filter(_arrow().array(wanted))
        cells = (rows[wanted], columns[wanted])
        self.has[cells] = True
        self.applied[cells] = np.asarray(table["applied"])
        self.effort[cells] = np.column_stack([np.asarray(table[name]) for name in EFFORT])
        self.ranked[cells] = self._numbered(table["documents"].combine_chunks())

    def _numbered(self, lists: Any) -> Ranked:
        """Lists of document ids as positions, ``(c, k)``."""
        encoded = lists.flatten().dictionary_encode()
        positions = [
            self.documents.setdefault(id_, len(self.documents))
            for id_ in encoded.dictionary.to_pylist()
        ]
        lengths = np.asarray(lists.value_lengths())
        depth = self.ranked.shape[-1]
        block = np.full((len(lengths), depth), -1, dtype=np.int32)
        block[np.arange(depth) < lengths[:, None]] = np.asarray(positions, dtype=np.int32)[
            np.asarray(encoded.indices)
        ]
        return block


def read_parts(folder: Path, feature_key: str) -> tuple[Any, Any]:
    """Tables of features and of cells that a folder holds, empty ones where it holds none.

    A file that cannot be read is put aside with a warning: what it held will be searched again.
    """
    return _read(folder, f"{_FEATURES}-{feature_key}", _features_schema()), _read(
        folder, _CELLS, _cells_schema()
    )


def write_part(
    folder: Path,
    outcomes: Outcomes,
    query_keys: Sequence[str],
    action_keys: Sequence[str],
    feature_key: str,
) -> tuple[Any, Any]:
    """Write outcomes down, each file as a whole, and return the tables written."""
    folder.mkdir(parents=True, exist_ok=True)
    features = _features_table(outcomes, query_keys)
    cells = _cells_table(outcomes, query_keys, action_keys)
    _write(folder, f"{_FEATURES}-{feature_key}", features)
    _write(folder, _CELLS, cells)
    return features, cells


def _features_table(outcomes: Outcomes, query_keys: Sequence[str]) -> Any:
    arrow = _arrow()
    n, width = outcomes.features.shape
    values = arrow.ListArray.from_arrays(
        np.arange(n + 1, dtype=np.int32) * width, arrow.array(outcomes.features.ravel())
    )
    return arrow.table({"query": list(query_keys), "values": values}, schema=_features_schema())


def _cells_table(outcomes: Outcomes, query_keys: Sequence[str], action_keys: Sequence[str]) -> Any:
    """One row for each cell that the mask lets through."""
    arrow = _arrow()
    rows, columns = np.nonzero(outcomes.mask)
    ranked = outcomes.ranked[rows, columns]
    lengths = (ranked >= 0).sum(axis=1)
    names = arrow.array(outcomes.documents, type=arrow.string())
    ids = names.take(arrow.array(ranked[ranked >= 0]))
    offsets = np.concatenate([[0], lengths.cumsum()]).astype(np.int32)
    effort = outcomes.effort[rows, columns]
    return arrow.table(
        {
            "query": arrow.array(query_keys, type=arrow.string()).take(arrow.array(rows)),
            "action": arrow.array(action_keys, type=arrow.string()).take(arrow.array(columns)),
            "applied": outcomes.applied[rows, columns],
            "documents": arrow.ListArray.from_arrays(offsets, ids),
            **{name: effort[:, number] for number, name in enumerate(EFFORT)},
        },
        schema=_cells_schema(),
    )


def _features_schema() -> Any:
    arrow = _arrow()
    return arrow.schema({"query": arrow.string(), "values": arrow.list_(arrow.float32())})


def _cells_schema() -> Any:
    arrow = _arrow()
    return arrow.schema(
        {
            "query": arrow.string(),
            "action": arrow.string(),
            "applied": arrow.bool_(),
            "documents": arrow.list_(arrow.string()),
            **dict.fromkeys(EFFORT, arrow.int16()),
        }
    )


def _read(folder: Path, kind: str, schema: Any) -> Any:
    arrow = _arrow()
    from pyarrow import parquet

    tables = []
    for path in sorted(folder.glob(f"{kind}-*.parquet")):
        try:
            tables.append(parquet.read_table(path).cast(schema))
        except (arrow.ArrowException, OSError, ValueError) as error:
            _logger.warning("%s cannot be read and is searched again: %s", path, error)
            with suppress(OSError):  # told once; another run may have been faster
                path.replace(path.with_suffix(".damaged"))
    return arrow.concat_tables(tables) if tables else schema.empty_table()


def _write(folder: Path, kind: str, table: Any) -> None:
    from pyarrow import parquet

    name = f"{kind}-{uuid.uuid4().hex}.parquet"
    temporary = folder / f".{name}-{os.getpid()}"
    try:
        parquet.write_table(table, temporary, compression="zstd")
        temporary.replace(folder / name)
    finally:
        temporary.unlink(missing_ok=True)


def _positions(names: Any, wanted: Sequence[str]) -> npt.NDArray[np.int64]:
    """Where each name stands among ``wanted``, ``(c,)``; -1 where it doesn't."""
    import pyarrow.compute as pc

    arrow = _arrow()
    found = pc.index_in(names, value_set=arrow.array(wanted, type=arrow.string()))
    return np.asarray(pc.fill_null(found, -1), dtype=np.int64)


def _arrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise MissingExtraError("pyarrow", "report") from error
    return pyarrow
