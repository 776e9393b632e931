"""What one decision may spend beside time, and a count of what it spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from rl_rewriter.actions.base import Action
from rl_rewriter.errors import RewriterError
from rl_rewriter.retrieval.protocols import FilterList, LexicalSource, Retriever, VectorSource
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.types import Matrix, Needs, Ranking, Rewrite

_FIRST = Needs.FIRST_RANKING | Needs.FIRST_TEXTS | Needs.FIRST_VECTORS
_LEXICAL = Needs.LEXICAL | Needs.LEXICAL_VECTORS


class OverBudgetError(RewriterError):
    """A search or a call of a language model beyond what a decision may spend.

    Attributes:
        reason: Why the query is kept: "search_budget" or "llm_budget".
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"the decision needs more than its budget ({reason})")
        self.reason = reason


@dataclass(frozen=True, kw_only=True)
class Caps:
    """The most that one decision may spend.

    Attributes:
        searches: Searches beside the base retriever's one; None for any number.
        llm_calls: Calls of a language model; None for any number.
    """

    searches: int | None = None
    llm_calls: int | None = None

    @property
    def are_none(self) -> bool:
        """Whether nothing is capped."""
        return self.searches is None and self.llm_calls is None


NO_CAPS = Caps()


class Meter:
    """Counts searches and calls, and refuses those beyond the caps.

    Args:
        caps: The most that may be spent.
    """

    def __init__(self, caps: Caps = NO_CAPS) -> None:
        self.caps = caps
        self.serves_first = False
        """Whether a kept query is served from the first ranking instead of by the base."""
        self.replaced = 0
        """1 where a search of ours is served in place of the base's."""
        self._searches = 0
        self.llm_calls = 0

    @property
    def searches(self) -> int:
        """Searches beside the base retriever's one, so far."""
        return max(0, self._searches - self.replaced)

    def search(self, n: int = 1) -> None:
        """Count searches that are about to be made.

        Raises:
            OverBudgetError: They are too many; none is to be made.
        """
        cap = self.caps.searches
        if cap is not None and self._searches + n > cap + (self.serves_first or self.replaced):
            raise OverBudgetError("search_budget")
        self._searches += n

    def search_rewrite(self, rewrite: Rewrite) -> None:
        """Count our own search of a rewrite, which stands for the base's; fusion is one more.

        Raises:
            OverBudgetError: It is one too many.
        """
        self.replaced = 1
        self.search(1 + (rewrite.lexical_weight > 0))

    def not_served(self) -> None:
        """What our own searches found isn't served: the base's search comes on top of them."""
        self.replaced = 0

    def ask(self, n: int) -> None:
        """Count calls of a language model that were made.

        Raises:
            OverBudgetError: They were too many.
        """
        self.llm_calls += n
        cap = self.caps.llm_calls
        if cap is not None and self.llm_calls > cap:
            raise OverBudgetError("llm_budget")


class MeteredRetriever:
    """A retriever while evidence is gathered from it: each search is counted before it is made."""

    def __init__(self, retriever: Retriever, meter: Meter) -> None:
        self._retriever = retriever
        self._meter = meter
        self.name = retriever.name
        self.offers = retriever.offers

    def search(
        self,
        rewrites: Sequence[Rewrite],
        *,
        k: int,
        filters: FilterList | None = None,
        with_documents: bool = False,
    ) -> list[Ranking]:
        """See :meth:`rl_rewriter.retrieval.protocols.Retriever.search`."""
        self._meter.search(len(rewrites))
        return self._retriever.search(rewrites, k=k, filters=filters, with_documents=with_documents)

    def statistics(self) -> CollectionStatistics:
        """Term weights of the collection."""
        return self._retriever.statistics()

    def lexical(
        self, texts: Sequence[str], *, k: int, filters: FilterList | None = None
    ) -> list[Ranking]:
        """BM25 rankings, one a text."""
        self._meter.search(len(texts))
        return cast(LexicalSource, self._retriever).lexical(texts, k=k, filters=filters)

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Embeddings of query texts."""
        return cast(VectorSource, self._retriever).embed_queries(texts)

    def document_vectors(self, ids: Sequence[str]) -> Matrix:
        """Embeddings of documents."""
        return cast(VectorSource, self._retriever).document_vectors(ids)


def searches_of_keep(features: Needs, *, serves_first: bool) -> int:
    """Searches beside the base's one that a kept query takes, for its features alone."""
    has_first = bool(features & _FIRST)
    return has_first + bool(features & _LEXICAL) - (has_first and serves_first)


def searches_of(features: Needs, action: Action) -> int:
    """The most searches beside the base's one that an action takes, features included.

    BM25 without its documents' vectors is needed for fusion, whose search asks it again; an action
    that needs both says itself whether it fuses. Words that are spelt alike are searched beside the
    query.
    """
    needs = features | action.needs
    is_fused = Needs.LEXICAL in action.needs and (
        Needs.LEXICAL_VECTORS not in action.needs or bool(getattr(action, "fuses", False))
    )
    is_beside = is_fused or Needs.SPELLING in action.needs
    return bool(needs & _FIRST) + bool(needs & _LEXICAL) + is_beside


def llm_calls_of(action: Action) -> int:
    """The most calls of a language model that an action says it makes for one query."""
    told = getattr(action, "llm_calls", 0)
    return told if isinstance(told, int) else 0
