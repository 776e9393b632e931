"""From a log to a policy with a blend, where one pays on queries that were held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rl_rewriter.actions.blend import LearnedBlend
from rl_rewriter.envs.outcomes import Outcomes, reward_table
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.policies.protocols import Values
from rl_rewriter.rewards.reward import Table
from rl_rewriter.training.blend.pools import Rows
from rl_rewriter.training.blend_material import single_actions
from rl_rewriter.training.ladder.report import LadderReport
from rl_rewriter.training.learning import Learned, Material, learn
from rl_rewriter.training.offline_report import TWO_SIDED, widest_interval
from rl_rewriter.training.on_rows import training_rows
from rl_rewriter.training.replay.divided import divided_by_query
from rl_rewriter.training.replay.searching import Again, Searcher

FEWEST_QUERIES = 25
"""With fewer queries to learn from, or fewer to value by, no blend is learned from a log."""


@dataclass(frozen=True, eq=False)
class Replayed:
    """A policy with a blend, and what it is worth by credit on queries that were held out.

    Attributes:
        checkpoint: The policy.
        report: How rungs compared by cross-fitting, in units of the reward; values lack what a list
            earns without any credit.
        decisions: Rows of the log about held-out queries, ``(h,)``.
        keep: What keep is worth on their queries, ``(h,)``.
        best_fixed: The same of the single action that is best on the queries learned from.
        policy: The same of the policy.
        gain_ci95: Interval of the policy's mean gain over keep, by the decisions' weights.
        single: Name of that action.
        kl: KL of the policy to the reference, in nats.
        explained: Share of the rewards' variance that credit explains of rewards left out.
    """

    checkpoint: Checkpoint
    report: LadderReport
    decisions: Rows
    keep: Values
    best_fixed: Values
    policy: Values
    gain_ci95: tuple[float, float]
    single: str
    kl: float
    explained: float


def learn_blend(
    searcher: Searcher, choice: Checkpoint, rows: tuple[Sequence[int], Sequence[int]]
) -> Replayed | str:
    """Learn a blend from a log, and take it unless what was learned without looks better.

    That is by more than a standard error: few held-out queries tell the two apart badly, and the
    blend has shown by cross-fitting that it beats the best single action.

    Blends are learned as from judgements, with the credit of documents for grades: by cross-fitting
    over queries, simpler ones first; there each query counts alike. What is valued at the end are
    other queries, by the credit that their own decisions give, around what the first ones tell to
    expect of documents: few queries tell that badly. There each decision counts for its weight.

    Args:
        searcher: Searches the log's queries.
        choice: The policy over single actions that was learned from the same log.
        rows: Rows of the log to learn from, and those to value by.

    Returns:
        What was learned, or, in a sentence, why there is no blend.

    Raises:
        CollectionError: The collection cannot be searched.
        TrainingError: Training diverged.
    """
    learned_from, valued = divided_by_query(searcher, rows)
    if min(_distinct(searcher, part) for part in (learned_from, valued)) < FEWEST_QUERIES:
        return (
            f"no blend was learned: that takes {FEWEST_QUERIES} different queries to learn from, "
            "and as many others to value it by, with their words and conversations in the log"
        )
    if searcher.features.needs & ~searcher.retriever.offers:
        return (
            "no blend was learned: this retriever doesn't offer what the log's states are made of"
        )
    actions = single_actions(choice.actions, searcher.config)
    queries = [searcher.shown.queries[row] for row in np.unique(searcher.shown.rows[learned_from])]
    actions = actions.possible_for(queries, searcher.retriever.offers)
    found = searcher.search(learned_from, actions)
    if isinstance(found, str):
        return f"no blend was learned: {found}"
    groups = _groups(searcher, found)
    if len(set(groups)) < 2:
        return "no blend was learned: the queries to learn from are all of one conversation"
    learned = _learn(searcher, found, groups)
    if learned.blend is None or learned.climbed is None:
        return "no blend was learned: none is clearly better than a single action"
    fitted = learned.fitted
    actions = actions.extended([learned.blend])
    checkpoint = Checkpoint(fitted.outcome.policy, actions, fitted.features, choice.statistics)
    others = searcher.search(valued, actions, found.credit)
    if isinstance(others, str):
        return f"no blend was learned: of the queries to value it by, {others}"
    values, asked = others.values, others.asked
    best = int(_mean(searcher, found, found.values[found.asked]).argmax())
    policy = _chosen(checkpoint, others.outcomes, values)[asked]
    over_keep = _gain(searcher, others, policy - values[asked, 0])
    result = Replayed(
        checkpoint=checkpoint,
        report=learned.climbed.report,
        decisions=others.decisions,
        keep=values[asked, 0],
        best_fixed=values[asked, best],
        policy=policy,
        gain_ci95=over_keep,
        single=actions.names[best],
        kl=fitted.outcome.kl,
        explained=found.credit.own_explained,
    )
    without = _without(searcher, choice, others)[asked]
    low, high = _gain(searcher, others, policy - without)
    over_choice, error = (low + high) / 2.0, (high - low) / (2.0 * TWO_SIDED)
    if sum(over_keep) <= 0.0 or over_choice < -error:
        return (
            f"no blend was taken: on held-out queries its gain is {sum(over_keep) / 2:+.4f} over "
            f"keep and {over_choice:+.4f} (standard error {error:.4f}) over the choice among the "
            "actions of the log"
        )
    return result


def _distinct(searcher: Searcher, decisions: Rows) -> int:
    return len(np.unique(searcher.shown.rows[decisions]))


def _groups(searcher: Searcher, found: Again) -> tuple[str, ...]:
    """The conversation in which each query was first asked."""
    first = np.full(len(found.queries), -1, dtype=np.intp)
    first[found.asked[::-1]] = found.decisions[::-1]
    return tuple(searcher.log.groups[row] for row in first)


def _mean(searcher: Searcher, found: Again, values: Table | Values) -> Values:
    """Mean over decisions, each of which counts for its weight."""
    weights = searcher.log.weights
    return np.asarray(
        np.average(values, axis=0, weights=None if weights is None else weights[found.decisions])
    )


def _gain(searcher: Searcher, found: Again, gains: Values) -> tuple[float, float]:
    """95% interval of the mean gain over decisions by their weights.

    By conversations or by queries, whichever tells less: what a policy is worth by credit is the
    same number whenever a query comes back.
    """
    log = searcher.log
    conversations = [log.groups[row] for row in found.decisions]
    queries = [found.queries[number].id for number in found.asked]
    weights = None if log.weights is None else log.weights[found.decisions]
    return widest_interval(gains, (conversations, queries), weights)


def _learn(searcher: Searcher, found: Again, groups: tuple[str, ...]) -> Learned:
    """As from judgements, with credit for grades."""
    reward = replace(searcher.config.reward, metric=searcher.metric)
    config = replace(searcher.config, reward=reward)
    table = reward_table(found.outcomes, found.grades, searcher.features, config.reward)
    rows = training_rows(groups, config)
    material = Material(table, searcher.features, groups, rows, found.pools, None)
    return learn(material, config, searcher.tell, None)


def _without(searcher: Searcher, choice: Checkpoint, others: Again) -> Values:
    """What the choice among the log's actions is worth, which may have an older blend."""
    if not any(isinstance(action, LearnedBlend) for action in choice.actions):
        return _chosen(choice, others.outcomes, others.values)
    actions = choice.actions.possible_for(others.queries, searcher.retriever.offers)
    outcomes = searcher.carry_out(others.queries, actions)
    return _chosen(choice, outcomes, searcher.worth(outcomes, others.grades, others.credit))


def _chosen(checkpoint: Checkpoint, outcomes: Outcomes, values: Table) -> Values:
    """What a policy's most probable actions are worth, one a query."""
    possible = [name for name in checkpoint.actions.names if name in outcomes.action_names]
    columns = [outcomes.action_names.index(name) for name in possible]
    mask = np.zeros((len(outcomes), len(checkpoint.actions)), dtype=np.bool_)
    place = [checkpoint.actions.index(name) for name in possible]
    mask[:, place] = outcomes.mask[:, columns]
    states = checkpoint.features.standardised(outcomes.features)
    action = checkpoint.policy.distribution(states, mask).greedy()
    column_of = np.zeros(len(checkpoint.actions), dtype=np.intp)
    column_of[place] = columns
    return np.asarray(values[np.arange(len(values)), column_of[action]])
