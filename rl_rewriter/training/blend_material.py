"""What a blend is learned from: single actions beside it, and candidates scored by all views."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_

import numpy as np

from rl_rewriter.actions.blend import BLEND, LearnedBlend
from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.actions.views import View, look, views_for
from rl_rewriter.errors import InputError
from rl_rewriter.retrieval.evidence import gather
from rl_rewriter.retrieval.protocols import Retriever
from rl_rewriter.training.blend.build import build_pools
from rl_rewriter.training.blend.pools import Pools
from rl_rewriter.training.config import FitConfig
from rl_rewriter.types import Needs, Qrels, Query, TermStatistics


def single_actions(space: ActionSpace, config: FitConfig) -> ActionSpace:
    """The actions beside which a blend is learned; one that was learned before is left out.

    Raises:
        InputError: Another action has the blend's name.
    """
    if config.learned_blend is None:
        return space
    own = tuple(action for action in space if not isinstance(action, LearnedBlend))
    if any(action.name == BLEND for action in own):
        raise InputError(
            f"{BLEND!r} is the name of the learned blend: give your action another name, or learn "
            "none with FitConfig(blend=None)"
        )
    return ActionSpace(own)


def pools_of(
    queries: Sequence[Query],
    retriever: Retriever,
    statistics: TermStatistics,
    qrels: Qrels,
    config: FitConfig,
) -> Pools | None:
    """What blends are trained on; None where this retriever can't search any.

    Args:
        queries: Judged queries, with ids.
        retriever: Where to search.
        statistics: Term weights of the collection.
        qrels: Judgements by query id.
        config: Settings.

    Raises:
        CollectionError: The collection cannot be searched.
    """
    views = views_for(retriever.offers)
    blend = config.learned_blend
    if blend is None or not views:
        return None
    if Needs.VECTOR not in retriever.offers and not blend.texts:
        return None
    evidence = gather(queries, retriever, statistics, _needs(views))
    seen = [look(item, views) for item in evidence]
    possible = np.any([item.present for item in seen], axis=0)
    views = tuple(view for view, can in zip(views, possible, strict=True) if can)
    if len(views) < 2:
        return None
    seen = [look(item, views) for item in evidence]
    return build_pools(evidence, seen, views, retriever, qrels, blend.pools)


def _needs(views: Sequence[View]) -> Needs:
    return reduce(or_, (view.needs for view in views), Needs.VECTOR | Needs.HISTORY_VECTORS)
