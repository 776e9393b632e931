"""What is measured, and on how much."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rl_rewriter.benchmark.extended_actions import ActionSources
    from rl_rewriter.benchmark.workbench import Workbench
    from rl_rewriter.cli.options.store import StoreOptions
    from rl_rewriter.types import OnProgress


@dataclass(frozen=True)
class MeasureOptions:
    """What is measured, and on how much."""

    metric: Annotated[
        str | None,
        typer.Option(
            help="ndcg@K, mrr@K, map@K, recall@K or hits@K, which counts the relevant documents "
            "found; ndcg@10 by default."
        ),
    ] = None
    limit_queries: Annotated[
        int | None, typer.Option(help="At most so many queries on each side of the split.")
    ] = None
    rewrites: Annotated[
        Path | None,
        typer.Option(
            help='JSON lines with "_id", "text" and "arm", or "method" and "model": rewrites made '
            "before; each arm becomes an action, and queries without a rewrite are left out."
        ),
    ] = None
    llm: Annotated[
        list[str] | None,
        typer.Option(
            help="MODULE:OBJECT of a chat model, or of a function from prompt to text, whose "
            "rewrites become actions; repeat it for several."
        ),
    ] = None
    actions: Annotated[
        str | None,
        typer.Option(
            help='Actions to compare, as patterns between commas: "fuse_bm25*,llm:*"; a "!" before '
            "one leaves actions out. keep is always among them. A blend is learned only where the "
            'patterns choose "blend", too: "fuse_bm25*,blend" or "!llm:*".'
        ),
    ] = None

    def open(self, data: str, store: StoreOptions, on_progress: OnProgress) -> Workbench:
        """Load the data and open the retriever over it."""
        from rl_rewriter.benchmark.workbench import open_workbench
        from rl_rewriter.rewards.metrics import Metric

        return open_workbench(
            data,
            store.config(),
            metric=Metric.parse(self.metric) if self.metric else None,
            limit_queries=self.limit_queries,
            sources=self.sources(store.cache),
            on_progress=on_progress,
        )

    def sources(self, cache: Path | None) -> ActionSources:
        """Where actions beside the built-in ones come from, and which are compared.

        Args:
            cache: Where answers of language models are kept; the user's cache folder by default.

        Raises:
            InputError: The file of rewrites cannot be used.
        """
        from rl_rewriter.benchmark.extended_actions import ActionSources
        from rl_rewriter.benchmark.rewrites import read_rewrites
        from rl_rewriter.retrieval.chroma_bm25 import default_cache_dir

        return ActionSources(
            rewrites=read_rewrites(self.rewrites) if self.rewrites else None,
            llm=tuple(self.llm or ()),
            patterns=self.actions,
            cache_dir=cache or default_cache_dir(),
        )
