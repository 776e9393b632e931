"""The options themselves, with their help texts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rl_rewriter.errors import InputError
from rl_rewriter.types import OnProgress

if TYPE_CHECKING:
    from rl_rewriter.benchmark.comparison.config import BenchmarkConfig
    from rl_rewriter.benchmark.extended_actions import ActionSources
    from rl_rewriter.benchmark.stores import StoreConfig
    from rl_rewriter.benchmark.workbench import Workbench
    from rl_rewriter.policies.checkpoint import Checkpoint
    from rl_rewriter.training.config import FitConfig
    from rl_rewriter.training.offline import OfflineConfig

Data = Annotated[
    str,
    typer.Argument(
        help="A folder in BEIR or TREC layout, a CSV, TSV, JSON or JSON-lines file of questions "
        "with their documents, a LangSmith or LlamaIndex dataset (docs/collections.md), "
        '"demo", "demo-zh", "fixture" or "simulator[:SEED]".'
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


Embedder = Annotated[
    str | None,
    typer.Option(
        help='sentence-transformers name or path, "minilm" (packaged) or "tfidf" (no model). '
        "By default minilm, and tfidf for Chinese documents."
    ),
]
ChromaPath = Annotated[Path | None, typer.Option(help="Folder of your own persistent Chroma.")]
ChromaHost = Annotated[str | None, typer.Option(help="HOST:PORT of your own Chroma server.")]
Collection = Annotated[str | None, typer.Option(help="Name of your own Chroma collection.")]
Cache = Annotated[
    Path | None, typer.Option(help="Folder for embeddings and indexes that are kept.")
]
_OWN_RETRIEVER = (
    "MODULE:OBJECT of a retriever of your own: LangChain's, LlamaIndex's, or a function "
    "(texts, k) that gives (id, score) pairs for each text"
)


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
    embedder: Embedder = None
    chroma_path: ChromaPath = None
    chroma_host: ChromaHost = None
    collection: Collection = None
    retriever: Annotated[str | None, typer.Option(help=f"{_OWN_RETRIEVER}.")] = None
    cache: Cache = None

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
            retriever=self.retriever,
            cache_dir=self.cache,
        )


@dataclass(frozen=True)
class SearchOptions:
    """What collections are searched by, one after another."""

    base: Annotated[
        list[str] | None,
        typer.Option(
            help="Retriever: chroma, bm25, tfidf or hybrid; repeat it for several. By default "
            "chroma, where no retriever of your own is named."
        ),
    ] = None
    retriever: Annotated[
        list[str] | None, typer.Option(help=f"{_OWN_RETRIEVER}; repeat it for several.")
    ] = None
    embedder: Embedder = None
    chroma_path: ChromaPath = None
    chroma_host: ChromaHost = None
    collection: Collection = None
    cache: Cache = None

    def configs(self) -> tuple[StoreConfig, ...]:
        """The library's settings, one for each retriever.

        Raises:
            InputError: The settings mean nothing together.
        """
        from rl_rewriter.benchmark.stores import StoreConfig

        bases = list(dict.fromkeys(self.base or ([] if self.retriever else ["chroma"])))
        own = list(dict.fromkeys(self.retriever or []))
        chosen = [*((base, None) for base in bases), *(("chroma", spec) for spec in own)]
        return tuple(
            StoreConfig(
                base=base,
                embedder=self.embedder,
                chroma_path=self.chroma_path,
                chroma_host=self.chroma_host,
                collection=self.collection,
                retriever=spec,
                cache_dir=self.cache,
            )
            for base, spec in chosen
        )


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


_REFERENCES = ("keep", "best-fixed", "uniform")


@dataclass(frozen=True)
class TrainOptions:
    """How a policy is trained."""

    algorithm: Annotated[str, typer.Option(help='How to learn; so far "reinforce".')] = "reinforce"
    reference: Annotated[
        str,
        typer.Option(
            help="What the KL term holds to: keep, best-fixed, uniform, or the folder of a saved "
            'policy; from --logs also "logged", the policy that wrote them.'
        ),
    ] = "keep"
    beta: Annotated[
        str,
        typer.Option(
            help='Weight of the KL term: a number, or "adaptive:TARGET" in nats; from --logs also '
            "several numbers between commas, of which held-out records choose."
        ),
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
        if not self._names_a_folder and self.reference not in _REFERENCES:
            raise InputError(
                f"unknown reference {self.reference!r}: keep, best-fixed, uniform, the folder of a "
                'saved policy, or from --logs "logged"'
            )
        return FitConfig(
            reinforce=ReinforceConfig(
                updates=self.updates, kl=KlConfig.parse(self.beta), seed=seed
            ),
            reference="keep" if self._names_a_folder else self.reference,  # type: ignore[arg-type]  # checked by FitConfig
        )

    def offline(self, seed: int) -> OfflineConfig:
        """The library's settings for learning from a log."""
        from rl_rewriter.training.kl_control import KlConfig
        from rl_rewriter.training.offline import OfflineConfig

        is_logged = self.reference == "logged"
        settings = replace(self, reference="keep") if is_logged else self
        several = self.beta.split(",")
        betas = tuple(KlConfig.parse(beta).beta for beta in several) if several[1:] else ()
        settings = replace(settings, beta=several[0])
        return OfflineConfig(fit=settings.config(seed), betas=betas, hold_to_log=is_logged)

    def reference_policy(self) -> Checkpoint | None:
        """The saved policy that the KL term holds to; None where a name says it.

        Raises:
            CheckpointError: The folder holds no usable policy.
        """
        from rl_rewriter.policies.checkpoint import load_checkpoint

        return load_checkpoint(Path(self.reference)) if self._names_a_folder else None

    @property
    def _names_a_folder(self) -> bool:
        return self.reference not in (*_REFERENCES, "logged") and Path(self.reference).is_dir()


@dataclass(frozen=True)
class LadderOptions:
    """Whether a fit may climb up to a blend of views, and how many queries it may hurt."""

    blend: Annotated[
        bool,
        typer.Option(
            "--blend/--no-blend",
            help="Whether a blend of the query, of the documents it finds, of the conversation and "
            "of BM25 is learned beside the choice of an action; served only where it pays. It is "
            "left out by an --actions that doesn't choose it, too.",
        ),
    ] = True
    prior: Annotated[
        bool,
        typer.Option(
            "--prior/--no-prior",
            help="Whether a blend starts from weights that were learned on other collections and "
            "come with this package, or from the query.",
        ),
    ] = False
    hurt_limit: Annotated[
        float | None,
        typer.Option(
            help="Share of the queries that may fall below keep, from 0 to 1, such as 0.06: a "
            "blend is served only where its predicted advantage is clear enough for that, and the "
            "query is kept elsewhere; a single action or a choice by query only if it hurts no "
            "more. No limit by default."
        ),
    ] = None

    def applied_to(self, fit: FitConfig, patterns: str | None = None) -> FitConfig:
        """The library's settings of a fit, with these.

        Args:
            fit: All other settings.
            patterns: What --actions says, which may leave the blend out; None where it isn't given.

        Raises:
            InputError: The limit is no share, or there is no pattern.
        """
        from rl_rewriter.benchmark.action_choice import learns_blend
        from rl_rewriter.training.blend.config import BlendConfig
        from rl_rewriter.training.ladder.config import LadderConfig

        tries_blend = learns_blend(patterns) and self.blend
        return replace(
            fit,
            ladder=LadderConfig(hurt_limit=self.hurt_limit),
            blend=BlendConfig(prior="shipped" if self.prior else None) if tries_blend else None,
        )


@dataclass(frozen=True)
class BenchmarkOptions:
    """How arms are compared."""

    folds: Annotated[
        int | None,
        typer.Option(
            help="Cross-validate all queries by so many folds. By default a collection's own split "
            "is kept to, and 5 folds are made where it has none."
        ),
    ] = None
    seeds: Annotated[int, typer.Option(help="Policies that are trained on each fold.")] = 3
    metrics: Annotated[
        str, typer.Option(help="What is reported beside --metric, between commas.")
    ] = "ndcg@10,mrr@10,recall@10,map@10,hits@10"
    policy: Annotated[
        bool, typer.Option("--policy/--no-policy", help="Whether policies are trained at all.")
    ] = True
    workers: Annotated[
        int | None, typer.Option(help="Processes that train; one a processor by default.")
    ] = None

    def config(self, metric: str | None, fit: FitConfig) -> BenchmarkConfig:
        """The library's settings.

        Args:
            metric: What choices are made by; nDCG@10 by default.
            fit: How policies are trained, with the seed of the run.

        Raises:
            InputError: A setting cannot work.
        """
        from rl_rewriter.benchmark.comparison.config import BenchmarkConfig, parse_metrics
        from rl_rewriter.rewards.metrics import Metric

        return BenchmarkConfig(
            metrics=parse_metrics(self.metrics),
            metric=Metric.parse(metric) if metric else None,
            folds=self.folds,
            seeds=self.seeds if self.policy else 0,
            seed=fit.reinforce.seed,
            fit=fit,
            workers=self.workers,
        )
