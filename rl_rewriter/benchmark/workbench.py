"""What headroom, training and evaluation work on, whatever DATA named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import as_file, files
from pathlib import Path

from rl_rewriter.actions.space import ActionSpace, default_actions
from rl_rewriter.benchmark.collections.judged import JudgedCollection, evenly
from rl_rewriter.benchmark.collections.read import read_collection
from rl_rewriter.benchmark.extended_actions import ActionSources, extend_actions
from rl_rewriter.benchmark.rewrites import covered
from rl_rewriter.benchmark.stores import StoreConfig, chosen_embedder, open_retriever
from rl_rewriter.envs.environment import JudgedEnvironment
from rl_rewriter.envs.fixture import minimal_fixture
from rl_rewriter.envs.retrieval import check_documents
from rl_rewriter.envs.simulator import simulate
from rl_rewriter.envs.simulator_config import SimulatorConfig
from rl_rewriter.errors import InputError
from rl_rewriter.retrieval.chroma_bm25 import default_cache_dir
from rl_rewriter.retrieval.protocols import CollectionRetriever
from rl_rewriter.rewards.metrics import Metric
from rl_rewriter.rewards.reward import RewardConfig
from rl_rewriter.training.splits import conversation_of
from rl_rewriter.types import OnProgress, Qrels, Query

_BUNDLED = {"demo": "en", "demo-zh": "zh"}
"""Name of a bundled corpus -> its folder."""


@dataclass(frozen=True, kw_only=True)
class Workbench:
    """A retriever, judged queries, and how they are divided.

    Attributes:
        name: For tables.
        n_documents: Documents searched.
        retriever: Where to search.
        embedder: What represents texts: a model's name, "tfidf" or "bm25".
        train: Queries to learn from.
        test: Held-out queries.
        qrels: Judgements by query id.
        protocol: "split" where the data bring their own, "cv5" where headroom cross-validates.
        actions: What may be done.
        reward: Metric and prices.
        groups: Query id -> what the query belongs to.
        kinds: Query id -> kind of query.
        cache_dir: Where outcomes are kept; None keeps nothing.
        notes: What is odd in the data but usable, a sentence each.
    """

    name: str
    n_documents: int
    retriever: CollectionRetriever
    embedder: str
    train: tuple[Query, ...]
    test: tuple[Query, ...]
    qrels: Qrels
    protocol: str
    actions: ActionSpace
    reward: RewardConfig
    groups: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    cache_dir: Path | None = None
    notes: tuple[str, ...] = ()

    def groups_of(self, queries: Sequence[Query]) -> list[str]:
        """What each query belongs to; its conversation where the data don't tell."""
        return [self.groups.get(query.id) or conversation_of(query) for query in queries]


def open_workbench(
    data: str,
    store: StoreConfig,
    *,
    metric: Metric | None = None,
    limit_queries: int | None = None,
    sources: ActionSources | None = None,
    on_progress: OnProgress | None = None,
) -> Workbench:
    """Load DATA and open the retriever over it.

    Args:
        data: A judged collection in any format of
            :func:`~rl_rewriter.benchmark.collections.read.read_collection`, "demo", "demo-zh",
            "fixture" or "simulator[:SEED]".
        store: Where documents are searched; not used by the generated environments. Where it is
            the user's own, the documents are those it holds, and the collection needs none.
        metric: What is measured; nDCG@10 by default, the environments' own for those.
        limit_queries: At most so many queries on each side of the split.
        sources: Where actions beside the built-in ones come from, and which are compared. Queries
            that a file of rewrites has nothing for are left out.
        on_progress: Told how far building the store is.

    Raises:
        InputError: There is no such data, or it is malformed.
    """
    sources = sources or ActionSources()
    environment = _environment(data)
    if environment is None:
        collection = prepared_collection(data, store, limit_queries, sources)
        return workbench_over(
            collection, store, metric=metric, sources=sources, on_progress=on_progress
        )
    bench = _of_environment(environment, metric, _checked_limit(limit_queries))
    return _extended(bench, sources, on_progress)


def prepared_collection(
    data: str, store: StoreConfig, limit_queries: int | None, sources: ActionSources
) -> JudgedCollection:
    """The collection that is compared on: limited, and to queries with a rewrite.

    Args:
        data: A judged collection, not an environment.
        store: Where its documents are searched.
        limit_queries: At most so many queries on each side of the split.
        sources: A file of rewrites among them leaves out the queries that it has nothing for.

    Raises:
        InputError: There is no such data, it is malformed, or no query has a rewrite.
    """
    collection = load_collection(data, documents_elsewhere=store.is_own)
    if sources.rewrites is not None:
        collection = covered(collection, sources.rewrites)
    limit = _checked_limit(limit_queries)
    return collection if limit is None else collection.limited(limit)


def workbench_over(
    collection: JudgedCollection,
    store: StoreConfig,
    *,
    metric: Metric | None = None,
    sources: ActionSources | None = None,
    on_progress: OnProgress | None = None,
) -> Workbench:
    """Open the retriever over a collection that is loaded already.

    Args:
        collection: Documents, queries and judgements.
        store: Where documents are searched.
        metric: What is measured; nDCG@10 by default.
        sources: Where actions beside the built-in ones come from, and which are compared.
        on_progress: Told how far building the store is.

    Raises:
        InputError: Judgements name documents that the user's own store doesn't hold.
    """
    retriever = open_retriever(collection, store, on_progress)
    if store.is_own:
        check_documents(collection.queries, collection.qrels, retriever)
    bench = Workbench(
        name=collection.name,
        n_documents=retriever.n_documents,
        retriever=retriever,
        embedder=chosen_embedder(collection, store),
        train=collection.train,
        test=collection.test,
        qrels=collection.qrels,
        protocol=collection.protocol,
        actions=default_actions(retriever.offers),
        reward=RewardConfig(metric=metric) if metric is not None else RewardConfig(),
        groups={query.id: collection.group_of(query) for query in collection.queries},
        kinds=collection.kinds,
        cache_dir=store.cache_dir or default_cache_dir(),
        notes=collection.notes,
    )
    return _extended(bench, sources or ActionSources(), on_progress)


def _extended(
    bench: Workbench, sources: ActionSources, on_progress: OnProgress | None
) -> Workbench:
    queries = [*bench.train, *bench.test]
    actions, notes = extend_actions(
        bench.actions, queries, bench.retriever.offers, sources, on_progress
    )
    return replace(bench, actions=actions, notes=(*bench.notes, *notes))


def _checked_limit(limit_queries: int | None) -> int | None:
    if limit_queries is not None and limit_queries < 1:
        raise InputError(f"the number of queries must be at least 1, got {limit_queries}")
    return limit_queries


def load_collection(data: str, *, documents_elsewhere: bool = False) -> JudgedCollection:
    """The bundled corpus by name, or a judged collection of any format.

    Args:
        data: "demo", "demo-zh", or a file or folder.
        documents_elsewhere: Whether the documents are in a store of the user's own.

    Raises:
        InputError: There is no such data, or it is malformed.
    """
    if data in _BUNDLED:
        with as_file(files("rl_rewriter") / "demo" / "corpus" / _BUNDLED[data]) as folder:
            return read_collection(folder, name=data, documents_elsewhere=documents_elsewhere)
    return read_collection(Path(data), documents_elsewhere=documents_elsewhere)


def is_named(data: str) -> bool:
    """Whether data are bundled or generated, not a path."""
    return data in _BUNDLED or is_generated(data)


def is_generated(data: str) -> bool:
    """Whether data name an environment that is generated, not a collection that is loaded."""
    return data.partition(":")[0] in ("fixture", "simulator")


def _environment(data: str) -> JudgedEnvironment | None:
    if data == "fixture":
        return minimal_fixture()
    kind, _, seed = data.partition(":")
    if kind != "simulator":
        return None
    try:
        number = int(seed or 0)
    except ValueError:
        raise InputError(f"the simulator's seed must be a whole number, got {seed!r}") from None
    return simulate(SimulatorConfig(seed=number))


def _of_environment(
    environment: JudgedEnvironment, metric: Metric | None, limit_queries: int | None
) -> Workbench:
    reward = environment.reward
    limit = limit_queries or len(environment.queries)
    return Workbench(
        name=environment.name,
        n_documents=environment.retriever.n_documents,
        retriever=environment.retriever,
        embedder="tfidf",
        train=evenly(environment.train, limit),
        test=evenly(environment.test, limit),
        qrels=environment.qrels,
        protocol="split",
        actions=environment.actions,
        reward=replace(reward, metric=metric) if metric is not None else reward,
        kinds=environment.kinds,
    )
