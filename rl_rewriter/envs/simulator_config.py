"""Size, mix and seed of a generated world."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from rl_rewriter.errors import InputError

Kind = Literal["formal", "wordy", "chatty", "vague", "follow_up"]
"""Ways of asking."""

HANDBOOKS = 4
OVERVIEWS = 3
PLANS = 2
DOCUMENTS_PER_PLAN = 3
MIN_LETTERS = 5
NOISE_DOCUMENTS = 6
"""Documents outside the topics, small talk and boilerplate half and half."""
MIN_TOPICS = 6
MAX_TOPICS = 30

_DOCUMENTS_BESIDE_LETTERS = HANDBOOKS + OVERVIEWS + PLANS * DOCUMENTS_PER_PLAN
_LOWEST = {"seed": 0, "n_train": 1, "n_test": 1}


def default_shares() -> dict[Kind, float]:
    """Mostly queries that are best left alone, and as many of each other kind."""
    return {"formal": 0.4, "wordy": 0.15, "chatty": 0.15, "vague": 0.15, "follow_up": 0.15}


@dataclass(frozen=True, kw_only=True)
class SimulatorConfig:
    """Settings of :func:`rl_rewriter.envs.simulator.simulate`.

    Attributes:
        seed: Equal settings and an equal seed give an equal world.
        n_topics: Topics, each with a vocabulary of its own.
        documents_per_topic: Four handbooks, three overviews, three documents for each of two
            plans; the rest are letters.
        n_train: Queries to learn from.
        n_test: Held-out queries.
        shares: Share of each kind of query; they sum to 1.
        other_history_share: Share of the queries other than follow-ups that come after a turn
            about another topic.
        typo_share: Share of the queries with one letter wrong.
    """

    seed: int = 0
    n_topics: int = 10
    documents_per_topic: int = 20
    n_train: int = 600
    n_test: int = 300
    shares: Mapping[Kind, float] = field(default_factory=default_shares)
    other_history_share: float = 0.25
    typo_share: float = 0.1

    def __post_init__(self) -> None:
        """Refuse settings under which the best action of a query would not be known."""
        for name, lowest in _LOWEST.items():
            if getattr(self, name) < lowest:
                raise InputError(f"{name} must be at least {lowest}, got {getattr(self, name)}")
        _check_topics(self.n_topics, self.documents_per_topic)
        _check_shares(self.shares)
        for name in ("other_history_share", "typo_share"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise InputError(f"{name} must lie in [0, 1], got {getattr(self, name)}")

    @property
    def letters_per_topic(self) -> int:
        """Documents of a topic in its colloquial words."""
        return self.documents_per_topic - _DOCUMENTS_BESIDE_LETTERS

    def counts(self, n_queries: int) -> dict[Kind, int]:
        """How many of ``n_queries`` are of each kind, by largest remainder."""
        exact = {kind: share * n_queries for kind, share in self.shares.items()}
        counts = {kind: math.floor(value + 1e-9) for kind, value in exact.items()}
        n_left = n_queries - sum(counts.values())
        for kind in sorted(exact, key=lambda kind: counts[kind] - exact[kind])[:n_left]:
            counts[kind] += 1
        return counts


def _check_topics(n_topics: int, n_documents: int) -> None:
    """Keep to collections whose topics are learned as they are meant.

    Topic learning makes sqrt(documents) clusters. Fewer than topics and groups of noise documents
    would merge some; far more would part a topic's letters from its handbooks.
    """
    if not MIN_TOPICS <= n_topics <= MAX_TOPICS:
        raise InputError(f"n_topics must lie between {MIN_TOPICS} and {MAX_TOPICS}, got {n_topics}")
    fewest = n_topics + 2
    most = max(n_topics + 4, int(1.6 * n_topics))
    lowest = max(
        _DOCUMENTS_BESIDE_LETTERS + MIN_LETTERS,
        math.ceil((fewest**2 - NOISE_DOCUMENTS) / n_topics),
    )
    highest = ((most + 1) ** 2 - 1 - NOISE_DOCUMENTS) // n_topics
    if not lowest <= n_documents <= highest:
        raise InputError(
            f"documents_per_topic must lie between {lowest} and {highest} for {n_topics} topics, "
            f"got {n_documents}"
        )


def _check_shares(shares: Mapping[Kind, float]) -> None:
    known = default_shares()
    if set(shares) - set(known) or min(shares.values(), default=-1.0) < 0:
        raise InputError(
            f"shares must be >= 0 and name only {', '.join(known)}; got {dict(shares)}"
        )
    if abs(sum(shares.values()) - 1.0) > 1e-6:
        raise InputError(f"shares must sum to 1, got {sum(shares.values()):g}")
