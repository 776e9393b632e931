"""Stands for a retriever that takes a text and tells nothing beforehand."""

from __future__ import annotations

from collections.abc import Sequence

from rl_rewriter.errors import CollectionError
from rl_rewriter.retrieval.protocols import FilterList
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.types import Needs, Ranking, Rewrite


class TextOnly:
    """Offers nothing: deciding against it leaves actions that make one text out of words alone.

    The search itself belongs to whoever asked for the decision.
    """

    name = "text"
    offers = Needs.NOTHING

    def search(
        self,
        rewrites: Sequence[Rewrite],
        *,
        k: int,
        filters: FilterList | None = None,
        with_documents: bool = False,
    ) -> list[Ranking]:
        """Nothing can be searched here.

        Raises:
            CollectionError: Always.
        """
        raise CollectionError("a text-only retriever cannot be searched for evidence")

    def statistics(self) -> CollectionStatistics:
        """No texts, no term weights."""
        return CollectionStatistics()
