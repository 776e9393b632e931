"""The options themselves, with their help texts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rl_rewriter.errors import InputError
from rl_rewriter.types import OnProgress

if TYPE_CHECKING:
    from rl_rewriter.benchmark.stores import StoreConfig
    from rl_rewriter.benchmark.workbench import Workbench
    from rl_rewriter.training.config import FitConfig

Data = Annotated[
    str,
    typer.Argument(
        help='A folder in BEIR layout, "demo", "demo-zh", "fixture" or "simulator[:SEED]".'
    ),
]
Policy = Annotated[Path, typer.Option(help="Folder of a saved policy.")]


@dataclass(frozen=True)
class RunOptions:
    """How any command runs and prints."""

    seed: Annotated[int, typer.Option(help="Seed of everything drawn.")] = 0
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object and nothing else.")
    ] = False
    debug: Annotated[bool, typer.Option(help="Show the traceback of an error.")] = False


@dataclass(frozen=True)
class StoreOptions:
    """Where documents are searched."""

    store: Annotated[
        str, typer.Option(help='What holds the documents; "chroma" (embedded) so far.')
    ] = "chroma"
    store_dir: Annotated[
        Path, typer.Option(help="Folder of the embedded collection that is built.")
    ] = Path("runs/chroma")
    base: Annotated[str, typer.Option(help="Retriever: chroma, bm25, tfidf or hybrid.")] = "chroma"
    embedder: Annotated[
        str | None,
        typer.Option(
            help='sentence-transformers name or path, "minilm" (packaged) or "tfidf" (no model). '
            "By default minilm, and tfidf for Chinese documents."
        ),
    ] = None
    chroma_path: Annotated[
        Path | None, typer.Option(help="Folder of your own persistent Chroma.")
    ] = None
    chroma_host: Annotated[
        str | None, typer.Option(help="HOST:PORT of your own Chroma server.")
    ] = None
    collection: Annotated[str | None, typer.Option(help="Name of your own Chroma collection.")] = (
        None
    )
    cache: Annotated[
        Path | None, typer.Option(help="Folder for embeddings and indexes that are kept.")
    ] = None

    def config(self) -> StoreConfig:
        """The library's settings.

        Raises:
            InputError: The store is unknown, or the settings mean nothing together.
        """
        from rl_rewriter.benchmark.stores import StoreConfig

        if self.store != "chroma":
            raise InputError(f'unknown store {self.store!r}; this version has "chroma"')
        return StoreConfig(
            base=self.base,
            embedder=self.embedder,
            folder=self.store_dir,
            chroma_path=self.chroma_path,
            chroma_host=self.chroma_host,
            collection=self.collection,
            cache_dir=self.cache,
        )


@dataclass(frozen=True)
class MeasureOptions:
    """What is measured, and on how much."""

    metric: Annotated[
        str | None, typer.Option(help="ndcg@K, mrr@K, recall@K or hits@K; ndcg@10 by default.")
    ] = None
    limit_queries: Annotated[
        int | None, typer.Option(help="At most so many queries on each side of the split.")
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
            on_progress=on_progress,
        )


@dataclass(frozen=True)
class TrainOptions:
    """How a policy is trained."""

    algorithm: Annotated[str, typer.Option(help='How to learn; so far "reinforce".')] = "reinforce"
    reference: Annotated[
        str, typer.Option(help="What the KL term holds to: keep, best-fixed or uniform.")
    ] = "keep"
    beta: Annotated[
        str, typer.Option(help='Weight of the KL term: a number, or "adaptive:TARGET" in nats.')
    ] = "0.002"
    updates: Annotated[int, typer.Option(help="Gradient steps.")] = 1500

    def config(self, seed: int) -> FitConfig:
        """The library's settings.

        Raises:
            InputError: The algorithm is unknown, or a setting cannot work.
        """
        from rl_rewriter.training.config import FitConfig, ReinforceConfig
        from rl_rewriter.training.kl_control import KlConfig

        if self.algorithm != "reinforce":
            raise InputError(f'unknown algorithm {self.algorithm!r}; this version has "reinforce"')
        return FitConfig(
            reinforce=ReinforceConfig(
                updates=self.updates, kl=KlConfig.parse(self.beta), seed=seed
            ),
            reference=self.reference,  # type: ignore[arg-type]  # checked by FitConfig
        )
