"""What every action retrieved for every query, before anyone judges it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rl_rewriter.envs.table import RewardTable, Rows
from rl_rewriter.errors import InputError
from rl_rewriter.features.feature_set import FeatureSet
from rl_rewriter.policies.protocols import Mask
from rl_rewriter.rewards.judged import JudgedRankings, Judgements, Ranked
from rl_rewriter.rewards.reward import EFFORT, Effort, RewardConfig, gains_over_keep
from rl_rewriter.types import Matrix, Qrels, Query


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Rankings of ``m`` actions on ``n`` queries, with what a policy would have seen.

    Judgements, metric and prices come later: the same outcomes serve them all.

    Attributes:
        queries: The ``n`` queries.
        action_names: Names of the ``m`` actions, keep first.
        columns: Names of the ``d`` feature columns.
        features: Raw features, not standardised, ``(n, d)``.
        mask: Which actions can be carried out, ``(n, m)``.
        applied: Which of them had something to work with, ``(n, m)``; the query is kept elsewhere.
        documents: Ids of all documents that were retrieved.
        ranked: The first ``k`` documents as positions in ``documents``, -1 for none,
            ``(n, m, k)``; where an action wasn't applied, keep's.
        effort: What each action did beyond keep, ``(n, m, 4)``.
    """

    queries: tuple[Query, ...]
    action_names: tuple[str, ...]
    columns: tuple[str, ...]
    features: Matrix
    mask: Mask
    applied: Mask
    documents: tuple[str, ...]
    ranked: Ranked
    effort: Effort

    def __post_init__(self) -> None:
        """Check that all arrays speak of the same queries and actions."""
        n, m = len(self.queries), len(self.action_names)
        expected = {
            "features": (n, len(self.columns)),
            "mask": (n, m),
            "applied": (n, m),
            "ranked": (n, m, self.ranked.shape[-1]),
            "effort": (n, m, len(EFFORT)),
        }
        wrong = {
            name: shape for name, shape in expected.items() if getattr(self, name).shape != shape
        }
        if wrong:
            raise InputError(f"arrays of {n} queries and {m} actions expected, wrong are {wrong}")

    def __len__(self) -> int:
        """Number of queries."""
        return len(self.queries)

    @cached_property
    def query_ids(self) -> tuple[str, ...]:
        """Names of the queries."""
        return tuple(query.id for query in self.queries)

    @property
    def depth(self) -> int:
        """Documents of each ranking."""
        return int(self.ranked.shape[-1])

    def subset(self, rows: Sequence[int] | Rows) -> Outcomes:
        """The same for some of the queries."""
        index = np.asarray(rows, dtype=np.intp)
        return replace(
            self,
            queries=tuple(self.queries[row] for row in index),
            features=self.features[index],
            mask=self.mask[index],
            applied=self.applied[index],
            ranked=self.ranked[index],
            effort=self.effort[index],
        )

    def of_actions(self, names: Sequence[str]) -> Outcomes:
        """The same for some of the actions, in the order given; the first must be keep."""
        columns = [self.action_names.index(name) for name in names]
        return replace(
            self,
            action_names=tuple(names),
            mask=self.mask[:, columns],
            applied=self.applied[:, columns],
            ranked=self.ranked[:, columns],
            effort=self.effort[:, columns],
        )

    def judgements(self, qrels: Qrels) -> Judgements:
        """The queries' judgements, numbered as the rankings are."""
        return Judgements.of(self.query_ids, self.documents, qrels)

    def judged(self, qrels: Qrels) -> JudgedRankings:
        """The rankings under judgements."""
        return self.judgements(qrels).judge(self.ranked)


def reward_table(
    outcomes: Outcomes, qrels: Qrels, features: FeatureSet, config: RewardConfig
) -> RewardTable:
    """Judge outcomes and standardise their features.

    Args:
        outcomes: What every action retrieved.
        qrels: Judgements by query id.
        features: What the states are made of, fitted.
        config: Metric and prices.

    Raises:
        InputError: The outcomes hold other features.
    """
    if features.columns != outcomes.columns:
        other = sorted(set(features.columns) ^ set(outcomes.columns))
        raise InputError(f"the outcomes hold other features than asked for: {', '.join(other[:5])}")
    values = config.metric.values(outcomes.judged(qrels))
    rewards = gains_over_keep(values, config.prices(outcomes.effort))
    return RewardTable(
        query_ids=outcomes.query_ids,
        action_names=outcomes.action_names,
        states=features.standardised(outcomes.features),
        mask=outcomes.mask,
        values=values,
        rewards=np.where(outcomes.applied, rewards, 0.0),
    )


def ranked_array(found: Sequence[Sequence[str]], depth: int, position: dict[str, int]) -> Ranked:
    """Rankings of ids as positions, ``(c, depth)``; ids that are new get the next number."""
    ranked = np.full((len(found), depth), -1, dtype=np.int32)
    for row, ids in enumerate(found):
        top = ids[:depth]
        ranked[row, : len(top)] = [position.setdefault(id_, len(position)) for id_ in top]
    return ranked


def numbered_by_id(position: Mapping[str, int], ranked: Ranked) -> tuple[tuple[str, ...], Ranked]:
    """Ids in ascending order, and rankings as positions among them.

    Equal outcomes have equal numbers then, in whichever order documents were first seen.
    """
    ids = sorted(position)
    place = np.empty(len(ids) + 1, dtype=np.int32)
    place[[position[id_] for id_ in ids]] = np.arange(len(ids), dtype=np.int32)
    place[-1] = -1
    return tuple(ids), place[ranked]


def joined(outcomes: Outcomes, name: str, parts: Sequence[tuple[Rows, Outcomes]]) -> Outcomes:
    """Outcomes with one more action at the end.

    Args:
        outcomes: Of ``n`` queries.
        name: Of the new action.
        parts: Rows of some queries, and their outcomes of keep and of the new action, to the same
            depth. On all other rows it is masked, and its outcomes are keep's.
    """
    position = {id_: number for number, id_ in enumerate(outcomes.documents)}
    mask, applied = (np.zeros((len(outcomes), 1), dtype=np.bool_) for _ in range(2))
    ranked = outcomes.ranked[:, :1].copy()
    effort = np.zeros((len(outcomes), 1, len(EFFORT)), dtype=np.int16)
    for rows, part in parts:
        places = [position.setdefault(id_, len(position)) for id_ in part.documents]
        place = np.asarray([*places, -1], dtype=np.int32)
        mask[rows], applied[rows] = part.mask[:, 1:], part.applied[:, 1:]
        ranked[rows], effort[rows] = place[part.ranked[:, 1:]], part.effort[:, 1:]
    documents, ranked = numbered_by_id(position, np.concatenate([outcomes.ranked, ranked], axis=1))
    return replace(
        outcomes,
        action_names=(*outcomes.action_names, name),
        mask=np.concatenate([outcomes.mask, mask], axis=1),
        applied=np.concatenate([outcomes.applied, applied], axis=1),
        documents=documents,
        ranked=ranked,
        effort=np.concatenate([outcomes.effort, effort], axis=1),
    )


def kept_elsewhere(applied: Mask, ranked: Ranked) -> Ranked:
    """Give keep's ranking to actions that had nothing to work with."""
    spread: npt.NDArray[np.int32] = np.where(applied[..., None], ranked, ranked[:, :1])
    return spread
