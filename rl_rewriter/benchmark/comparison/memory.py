"""What was found before and still holds: results of a collection, by all that they depend on.

A collection's folder holds ``key.json`` beside its ``record.json``: a digest of its content, every
setting that its figures follow from, and the sizes of its files. Where these are what a run would
leave, the record is taken as it stands, and nothing is opened, embedded or searched. Policies are
kept one by one, in ``fits/`` (see :mod:`rl_rewriter.benchmark.comparison.fits`), and outcomes of
actions in the cache folder (see :mod:`rl_rewriter.benchmark.outcome_store`): so a killed run loses
what it was at, another seed trains its own policies alone, and another action is searched alone,
though policies that may choose it have to be trained anew. Records and policies are in the run's
folder and are gone with it; only what is searched and embedded is shared between runs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import rl_rewriter
from rl_rewriter.actions.base import KEEP, Action
from rl_rewriter.actions.keep import Keep
from rl_rewriter.actions.space import ActionSpace, default_actions
from rl_rewriter.benchmark.collections.judged import JudgedCollection
from rl_rewriter.benchmark.comparison.config import BenchmarkConfig
from rl_rewriter.benchmark.comparison.files import FILES, KEY, RECORD
from rl_rewriter.features.feature_set import default_features
from rl_rewriter.folders import write_json
from rl_rewriter.text.digests import digest
from rl_rewriter.types import Needs, Qrels, Query

SCHEMA = 1
_EVERYTHING = ~Needs.NOTHING


def content_of(collection: JudgedCollection) -> str:
    """Digest of documents, queries, judgements, groups, kinds and split, in their order."""
    return digest(
        [
            collection.name,
            collection.protocol,
            *(part for item in collection.documents.items() for part in item),
            "queries",
            *queries_content(collection.queries, collection.qrels),
            *(collection.group_of(query) for query in collection.queries),
            *(collection.kinds.get(query.id, "") for query in collection.queries),
            "held out",
            *(query.id for query in collection.test),
            *collection.notes,
        ]
    )


def queries_content(queries: Iterable[Query], qrels: Qrels) -> Iterator[str]:
    """Everything that queries and their judgements consist of."""
    for query in queries:
        turns = [text for turn in query.history for text in (turn.role, turn.text)]
        grades = sorted(qrels.get(query.id, {}).items())
        yield json.dumps([query.id, query.text, turns, grades, query.filters and query.filters.key])


def settings_of(config: BenchmarkConfig) -> dict[str, Any]:
    """Every setting of a run that figures follow from, and the version that computes them."""
    return {
        "schema": SCHEMA,
        "version": rl_rewriter.__version__,
        "metrics": [metric.name for metric in config.metrics],
        "metric": config.metric and config.metric.name,
        "folds": config.folds,
        "seeds": list(config.policy_seeds),
        "seed": config.seed,
        "fit": json.loads(json.dumps(asdict(config.fit), default=str)),
        "actions": actions_content(default_actions(_EVERYTHING)),
        "columns": list(default_features(_EVERYTHING).columns),
    }


def actions_content(actions: Iterable[Action]) -> str:
    """Digest of actions with all they hold: settings, and texts of a file where they have any."""
    space = ActionSpace((Keep(), *(action for action in actions if action.name != KEEP)))
    contents = [str(getattr(action, "content", "")) for action in space]
    return digest([json.dumps(space.to_json(), sort_keys=True), *contents])


def known_record(folder: Path, key: Mapping[str, Any]) -> dict[str, Any] | None:
    """The record that stands in a collection's folder, if it is what this key leads to."""
    try:
        known = json.loads((folder / KEY).read_text("utf-8"))
        if known != {"key": key, "files": _sizes(folder)}:
            return None
        record = json.loads((folder / RECORD).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def remember_record(folder: Path, key: Mapping[str, Any]) -> None:
    """The folder's files are whole and are what this key leads to."""
    write_json(folder / KEY, {"key": key, "files": _sizes(folder)})


def _sizes(folder: Path) -> dict[str, int]:
    """Bytes of the files beside the record; that one is parsed, and may be corrected later on."""
    return {name: (folder / name).stat().st_size for name in FILES if (folder / name).is_file()}
