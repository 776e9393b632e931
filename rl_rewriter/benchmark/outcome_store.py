"""Outcomes of actions kept as Parquet, so that a query is searched once for an action, ever."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

import rl_rewriter
from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.benchmark.outcome_parts import Found, read_parts, write_part
from rl_rewriter.envs.outcomes import Outcomes, kept_elsewhere, numbered_by_id
from rl_rewriter.envs.retrieval import CHUNK, carry_out
from rl_rewriter.features.feature_set import FeatureSet
from rl_rewriter.retrieval.protocols import Retriever
from rl_rewriter.text.digests import digest
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.types import Needs, OnProgress, Query

SCHEMA = 3
LEAST_DEPTH = 10
"""Shallower metrics share the outcomes of this depth."""


class OutcomeStore:
    """An :data:`~rl_rewriter.envs.retrieval.OutcomeSource` that searches only what is new.

    What was searched lies in one folder for each content of the collection, embedder and depth, in
    a Parquet file for each chunk of queries: a killed run loses at most the chunk it was at, a new
    action is carried out alone, and changed judgements need no search at all.

    Args:
        folder: Where outcomes are kept.
        retriever: Where to search.
        statistics: Term weights of the collection.
        identity: Content of the collection and how it is searched; the retriever's fingerprint.
        on_progress: Told how many of the missing queries are done.
    """

    def __init__(
        self,
        folder: Path,
        retriever: Retriever,
        statistics: CollectionStatistics,
        *,
        identity: str,
        on_progress: OnProgress | None = None,
    ) -> None:
        self.retriever = retriever
        self.statistics = statistics
        self._folder = folder
        self._identity = identity
        self._on_progress = on_progress or (lambda stage, done, total: None)

    def __call__(
        self, queries: Sequence[Query], actions: ActionSpace, features: FeatureSet, depth: int
    ) -> Outcomes:
        """Outcomes of the queries: from the store, and searched where they aren't there yet."""
        keys = [_query_key(query) for query in queries]
        distinct: dict[str, Query] = {}
        for key, query in zip(keys, queries, strict=True):
            distinct.setdefault(key, query)
        asked = tuple(distinct.values())
        found = self._found(asked, tuple(distinct), actions, features, max(depth, LEAST_DEPTH))
        whole = _as_outcomes(found, asked, actions, features, self.retriever.offers)
        place = {key: row for row, key in enumerate(distinct)}
        return replace(whole.subset([place[key] for key in keys]), queries=tuple(queries))

    def _found(
        self,
        queries: Sequence[Query],
        query_keys: Sequence[str],
        actions: ActionSpace,
        features: FeatureSet,
        depth: int,
    ) -> Found:
        folder, feature_key = self._folder / self._key(depth), _feature_key(features)
        found = Found.nothing(query_keys, _action_keys(actions), len(features.columns), depth)
        found.add(*read_parts(folder, feature_key))
        lacks = actions.mask(queries, self.retriever.offers) & ~found.has
        lacking = np.flatnonzero(lacks.any(axis=1) | ~found.has_features)
        for start in range(0, len(lacking), CHUNK):
            rows = lacking[start : start + CHUNK]
            columns = [0, *(np.flatnonzero(lacks[rows, 1:].any(axis=0)) + 1)]  # keep comes first
            asked = ActionSpace(tuple(actions[column] for column in columns))
            searched = carry_out(
                [queries[row] for row in rows],
                self.retriever,
                self.statistics,
                asked,
                features,
                depth=depth,
            )
            keys = [query_keys[row] for row in rows]
            found.add(*write_part(folder, searched, keys, _action_keys(asked), feature_key))
            self._on_progress("reward table", min(start + CHUNK, len(lacking)), len(lacking))
        return found

    def _key(self, depth: int) -> str:
        version = f"{SCHEMA}-{rl_rewriter.__version__}"
        offers = self.retriever.offers.value
        return digest([version, self._identity, self._terms, f"{offers}-{depth}"])

    @cached_property
    def _terms(self) -> str:
        """The term weights that actions and features look at."""
        frequency = json.dumps(self.statistics.document_frequency, sort_keys=True)
        words = [topic.word for topic in self.statistics.topics]
        return digest([str(self.statistics.n_documents), frequency, *words])


def _as_outcomes(
    found: Found,
    queries: Sequence[Query],
    actions: ActionSpace,
    features: FeatureSet,
    offers: Needs,
) -> Outcomes:
    mask = actions.mask(queries, offers)
    applied = found.applied & mask
    documents, ranked = numbered_by_id(found.documents, kept_elsewhere(applied, found.ranked))
    return Outcomes(
        queries=tuple(queries),
        action_names=actions.names,
        columns=features.columns,
        features=found.features,
        mask=mask,
        applied=applied,
        documents=documents,
        ranked=ranked,
        effort=np.where(applied[..., None], found.effort, 0).astype(np.int16),
    )


def _action_keys(actions: ActionSpace) -> list[str]:
    """Settings, and the content of actions whose rewrites don't follow from their settings."""
    return [
        digest([json.dumps(record, sort_keys=True), str(getattr(action, "content", ""))])
        for action, record in zip(actions, actions.to_json(), strict=True)
    ]


def _feature_key(features: FeatureSet) -> str:
    learned = features.arrays().get("features.components")
    return digest([features.fingerprint, "" if learned is None else learned.tobytes().hex()])


def _query_key(query: Query) -> str:
    restriction = "" if query.filters is None else query.filters.key
    turns = [part for turn in query.history for part in (turn.role, turn.text)]
    return digest([*turns, query.text, restriction])
