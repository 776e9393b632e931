"""The component that stands before the retriever: decide, record, learn, save, load."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rl_rewriter.actions.base import Action
from rl_rewriter.actions.blend_prior import STARTING_STRENGTH
from rl_rewriter.actions.space import ActionSpace, default_actions
from rl_rewriter.caching.config import CacheConfig
from rl_rewriter.caching.default import chosen_cache
from rl_rewriter.caching.store import ServingCache
from rl_rewriter.conversation import as_query
from rl_rewriter.errors import CheckpointError, InputError
from rl_rewriter.logs.records import QueryPrivacy
from rl_rewriter.logs.store import DecisionLog
from rl_rewriter.policies.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from rl_rewriter.policies.decider import Plan
from rl_rewriter.policies.exploration import THE_POLICY, Exploration
from rl_rewriter.policies.retrieving import Retrieved
from rl_rewriter.policies.starting import prior_checkpoint, starting_checkpoint
from rl_rewriter.retrieval.evidence import EVIDENCE_DEPTH
from rl_rewriter.retrieval.protocols import Retriever
from rl_rewriter.rollout.kill_switch import KillSwitch
from rl_rewriter.serving.asking import Ask, decided, planned, retrieved
from rl_rewriter.serving.breaker import BreakerConfig
from rl_rewriter.serving.deployment import Deployment
from rl_rewriter.serving.events import Listener
from rl_rewriter.serving.guard import Guard, GuardConfig
from rl_rewriter.serving.limits import Budget
from rl_rewriter.serving.origin import Origin
from rl_rewriter.serving.policies import PolicyInUse
from rl_rewriter.serving.seeds import Seeds
from rl_rewriter.serving.ticket import Ticket
from rl_rewriter.serving.warming import warmed
from rl_rewriter.types import (
    Feedback,
    Filters,
    OnProgress,
    Qrels,
    Query,
    Ranking,
    RewriteDecision,
    ScoredDocument,
)

if TYPE_CHECKING:
    from rl_rewriter.envs.retrieval import OutcomeSource
    from rl_rewriter.logs.bandit import LoggedBandit
    from rl_rewriter.logs.shown import ShownLists
    from rl_rewriter.training.config import FitConfig
    from rl_rewriter.training.offline import OfflineConfig
    from rl_rewriter.training.offline_report import LogFitReport
    from rl_rewriter.training.report import FitReport


class RLQueryRewriter:
    """Chooses, for each query, what to send to the retriever.

    Untrained, every decision is keep. Safe for several threads: the policy in use is one immutable
    object, replaced as a whole by :meth:`fit` and :meth:`swap`. Whatever fails of it, or takes too
    long, leads to keep with a named reason (docs/serving.md).

    Args:
        retriever: Any batched retriever; None where each call of :meth:`decide` brings its own.
        actions: What may be done; by default everything that the retriever can carry out.
        checkpoint: A trained policy.
        log: Decision log or path of one; None logs nothing.
        log_queries: With a path: "text" logs the words, "hash" a digest of them, "none" nothing.
        exploration: What actions are drawn from where exploring is asked for; None switches it off
            everywhere, also later: ``rewriter.exploration = None``.
        seed: Seed of exploration.
        budget: What one request may take of time, searches and calls of a language model; by
            default a second, and any number.
        breaker: When our own work is left alone after failures in a row, and for how long.
        strict: Raise :class:`rl_rewriter.errors.ServingError` where something failed, instead of
            keeping the query: for tests.
        listeners: Called with each finished request (:class:`rl_rewriter.serving.events.Served`);
            those with a method ``on_feedback`` are told of outcomes, too.
        deployment: Assigns policies to requests, instead of ``checkpoint``.
        kill_switch: Every query is kept while it says True; asked at each request, so it must be
            quick. By default the environment variable RL_REWRITER_OFF is looked at.
    """

    def __init__(
        self,
        retriever: Retriever | None = None,
        *,
        actions: ActionSpace | None = None,
        checkpoint: Checkpoint | None = None,
        log: DecisionLog | str | Path | None = None,
        log_queries: QueryPrivacy = "text",
        exploration: Exploration | None = THE_POLICY,
        seed: int | None = None,
        budget: Budget | None = None,
        breaker: BreakerConfig | None = None,
        strict: bool = False,
        listeners: Sequence[Listener] = (),
        deployment: Deployment | None = None,
        kill_switch: Callable[[], bool] | None = None,
    ) -> None:
        self.retriever = retriever
        self._actions = actions
        self._policies = PolicyInUse(checkpoint, deployment)
        self.log = DecisionLog(log, log_queries=log_queries) if isinstance(log, str | Path) else log
        self.exploration = exploration
        self._seeds = Seeds(seed)
        self._reload: tuple[Path, tuple[Action, ...]] | None = None
        self._guard = Guard(
            GuardConfig(
                budget=budget or Budget(),
                breaker=breaker or BreakerConfig(),
                strict=strict,
                listeners=tuple(listeners),
                kill_switch=kill_switch or KillSwitch().engaged,
            )
        )

    @classmethod
    def from_retriever(cls, retriever: Retriever, **settings: Any) -> RLQueryRewriter:
        """Stand before any batched :class:`rl_rewriter.retrieval.protocols.Retriever`."""
        return cls(retriever, **settings)

    @classmethod
    def from_chroma(
        cls,
        collection: Any,
        embedder: Any,
        *,
        cache_dir: Path | None = None,
        cache: ServingCache | CacheConfig | Literal["shared"] | None = "shared",
        **settings: Any,
    ) -> RLQueryRewriter:
        """Stand before a Chroma collection.

        Args:
            collection: A ``chromadb`` collection.
            embedder: What embedded its documents: LangChain Embeddings, a LlamaIndex embedding, a
                SentenceTransformer, a Chroma embedding function, or a model's name.
            cache_dir: Where the BM25 index is kept; the user's cache folder by default.
            cache: What keeps embeddings and searches in memory (docs/serving.md): the process's
                shared cache, one of your own or the bounds of one; None for none.
            settings: As for the class itself.
        """
        from rl_rewriter.retrieval.over_chroma import serving_retriever

        kept = chosen_cache(cache)
        return cls(
            serving_retriever(collection, embedder, cache=kept, cache_dir=cache_dir), **settings
        )

    @classmethod
    def from_registry(
        cls,
        folder: str | Path,
        *,
        retriever: Retriever | None = None,
        actions: Iterable[Action] = (),
        **settings: Any,
    ) -> RLQueryRewriter:
        """Serve what a policy registry says, and follow its changes: canaries, roll-backs, off.

        Args:
            folder: The registry, which ``rl-rewriter policies add`` makes. Where it can't be read,
                queries are kept ("fallback:no_policy") until it can.
            retriever: Where to search; the adapters bring their own.
            actions: Actions of your own that its policies were trained with.
            settings: As for the class itself, apart from ``checkpoint`` and ``deployment``.
        """
        from rl_rewriter.rollout.deployment import RegistryDeployment
        from rl_rewriter.rollout.registry import PolicyRegistry

        registry = PolicyRegistry(folder, own_actions=actions)
        return cls(retriever, deployment=RegistryDeployment(registry), **settings)

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        retriever: Retriever | None = None,
        actions: Iterable[Action] = (),
        on_error: Literal["raise", "keep"] = "raise",
        **settings: Any,
    ) -> RLQueryRewriter:
        """Load a saved policy; torch isn't needed.

        Args:
            folder: What :meth:`save` wrote.
            retriever: Where to search; the adapters bring their own.
            actions: Actions of your own that it was trained with.
            on_error: "keep" gives, where there is no usable policy, a rewriter that keeps every
                query ("fallback:no_policy") until :meth:`reload` or a training succeeds.
            settings: ``log``, ``seed``, ``budget`` and the like, as for the class itself.

        Raises:
            CheckpointError: The folder holds no policy, a damaged one, or one of other actions or
                features than this version's; the text says which.
            InputError: ``on_error`` is neither.
        """
        if on_error not in ("raise", "keep"):
            raise InputError(f'on_error must be "raise" or "keep", got {on_error!r}')
        rewriter = cls(retriever, **settings)
        rewriter._reload = (Path(folder), tuple(actions))
        try:
            rewriter.reload()
        except Exception as error:
            if on_error == "raise":
                raise
            rewriter._policies.is_missing = True
            rewriter._guard.warnings.warn(f"no policy was loaded, every query is kept ({error})")
        return rewriter

    def reload(self) -> None:
        """Read the policy again from where it was loaded; where that fails, nothing changes.

        Raises:
            CheckpointError: There is no usable policy in the folder.
            InputError: This rewriter wasn't loaded from a folder.
        """
        if self._reload is None:
            raise InputError("there is no folder to read again; this rewriter wasn't loaded")
        folder, actions = self._reload
        checkpoint = load_checkpoint(folder, own_actions=actions)
        self._actions = checkpoint.actions
        self.swap(checkpoint)

    def swap(self, checkpoint: Checkpoint | None) -> None:
        """Decide by another policy from the next request on; None keeps every query.

        A request that has begun is finished by the policy that it began with.
        """
        self._policies.swap(checkpoint)

    def save(self, folder: str | Path) -> None:
        """Write the trained policy as a folder of safetensors and JSON.

        Raises:
            CheckpointError: Nothing has been trained.
        """
        if self.checkpoint is None:
            raise CheckpointError(
                "there is no trained policy to save; call fit(queries, qrels) first"
            )
        save_checkpoint(self.checkpoint, Path(folder))

    @property
    def policy_version(self) -> str:
        """Version of the policy in use, "untrained" without one, "unassigned" before it is."""
        return self._policies.version

    @property
    def checkpoint(self) -> Checkpoint | None:
        """The policy in use with all that belongs to it."""
        decider = self._policies.decider
        return decider.checkpoint if decider is not None else None

    @property
    def counters(self) -> dict[str, Any]:
        """What was served so far: see :meth:`rl_rewriter.serving.counters.Counters.snapshot`."""
        return self._guard.counters.snapshot()

    @property
    def actions(self) -> ActionSpace:
        """What may be done: the trained policy's actions, else those it would be trained with."""
        if self.checkpoint is not None:
            return self.checkpoint.actions
        if self._actions is not None:
            return self._actions
        return default_actions(self._searchable().offers)

    def fit(
        self,
        queries: Sequence[Query] | Mapping[str, str],
        qrels: Qrels,
        *,
        config: FitConfig | None = None,
        groups: Sequence[str] | None = None,
        outcomes: OutcomeSource | None = None,
        reference: Checkpoint | None = None,
        on_progress: OnProgress | None = None,
        metrics_dir: Path | None = None,
    ) -> FitReport:
        """Learn online: the retriever is the environment, the judgements are the reward.

        Validation queries are held out from ``queries`` here; a test set is yours to keep apart.

        Args:
            queries: Queries with ids, or id -> text.
            qrels: Query id -> document id -> grade.
            config: Settings (:class:`rl_rewriter.training.config.FitConfig`).
            groups: One name a query; a group is never divided between training and validation.
            outcomes: Where the outcomes of actions come from, such as a store of earlier ones; they
                are searched here by default.
            reference: A policy for the KL term to hold to, instead of what ``config`` names.
            on_progress: Called with stage, done, total.
            metrics_dir: Where training metrics are written; nowhere by default.

        Returns:
            What was done and how it went on the validation queries.

        Raises:
            InputError: No query is judged, or too few are.
            TrainingError: Training diverged.
            MissingExtraError: A package for training isn't installed.
        """
        from rl_rewriter.training.fit import fit_policy

        if isinstance(queries, Mapping):
            queries = [Query(text, id=name) for name, text in queries.items()]
        checkpoint, report = fit_policy(
            queries,
            qrels,
            self._searchable(),
            actions=self._actions,
            config=config,
            groups=groups,
            outcomes=outcomes,
            reference=reference,
            on_progress=on_progress,
            metrics_dir=metrics_dir,
        )
        self.swap(checkpoint)
        return report

    def fit_logs(
        self,
        log: str | Path | LoggedBandit | None = None,
        *,
        shown: ShownLists | None = None,
        config: OfflineConfig | None = None,
        reference: Checkpoint | None = None,
        on_progress: OnProgress | None = None,
        metrics_dir: Path | None = None,
    ) -> LogFitReport:
        """Learn offline, from logged decisions and what came of them.

        Term weights are those of the policy in use, which wrote the log, else the retriever's.
        Where the log holds what was asked and this rewriter has the retriever that was searched, a
        blend is learned as well: queries are searched again, and rewards credited to documents.

        Args:
            log: A decision log, or its arrays (:func:`rl_rewriter.logs.dataset.dataset`, which
                takes weights of feedback and what becomes of decisions without any); this
                rewriter's own log by default.
            shown: Beside arrays, what their decisions asked and showed
                (:func:`rl_rewriter.logs.shown.read_shown`); read from a log that is named.
            config: Settings (:class:`rl_rewriter.training.offline.OfflineConfig`).
            reference: A policy for the KL term to hold to, instead of what ``config`` says.
            on_progress: Called with stage, done, total.
            metrics_dir: Where training metrics are written; nowhere by default.

        Returns:
            What was learned, with estimates on held-out records: see the ``gate`` command for a
            verdict.

        Raises:
            InputError: There is no such log, or nothing in it can be learned from, and why.
            CollectionError: The collection cannot be searched.
            TrainingError: Training diverged.
            MissingExtraError: A package for training isn't installed.
        """
        from rl_rewriter.training.from_logs import learn_from_logs
        from rl_rewriter.training.starting_points import known_actions, known_weights, logged

        no_blend = self.retriever is None or (
            config is not None and config.fit.learned_blend is None
        )
        bandit, read = logged(log, self.log, with_lists=shown is None and not no_blend)
        checkpoint, report = learn_from_logs(
            bandit,
            read if shown is None else shown,
            self.retriever,
            known=known_actions(self.checkpoint, self._actions),
            statistics=known_weights(self.checkpoint, self.retriever),
            config=config,
            reference=reference,
            on_progress=on_progress,
            metrics_dir=metrics_dir,
        )
        self.swap(checkpoint)
        return report

    def explore_untrained(self, *, actions: ActionSpace | None = None, keep: float = 0.9) -> None:
        """Decide by a policy that has learned nothing yet, so that its log can teach one.

        Queries are kept; with ``explore=True`` another action is drawn now and then, and the log
        holds what was seen and the exact propensities.

        Args:
            actions: What may be drawn: the fewer, the sooner a log tells them apart. Everything
                that may be done by default.
            keep: Probability of keep; the other actions share the rest evenly. It is what
                :attr:`exploration` draws around, where that says "policy".

        Raises:
            InputError: There is no retriever to say what is possible.
        """
        space = actions or self._actions
        self.swap(starting_checkpoint(self._searchable(), actions=space, keep=keep))

    def start_from_prior(
        self, *, actions: ActionSpace | None = None, strength: float = STARTING_STRENGTH
    ) -> None:
        """Serve a blend by weights learned on other collections, without evidence of yours.

        Nothing is measured on your collection: queries may do worse than kept ones, the more so the
        fewer of them your embedding fails on (docs/experiments.md). With ``explore=True`` a log
        teaches more; :meth:`fit`, :meth:`fit_logs` and the gate take over from there.

        Args:
            actions: What may be drawn beside the blend; everything that may be done by default.
            strength: Share of the blend in what is searched, in (0, 1]; the rest is keep.

        Raises:
            InputError: There is no retriever, it searches no vectors, or the strength is no share.
        """
        space = actions or self._actions
        self.swap(prior_checkpoint(self._searchable(), actions=space, strength=strength))

    def decide(
        self,
        query: Query | str,
        *,
        history: Sequence[Any] | None = None,
        filters: Filters | Mapping[str, Any] | None = None,
        explore: bool = False,
        retriever: Retriever | None = None,
        decision_id: str | None = None,
        seed: int | None = None,
        session: str | None = None,
    ) -> RewriteDecision:
        """Decide what to send for one query; keep, with a named reason, where anything fails.

        Args:
            query: The user's words.
            history: Earlier turns, oldest first: LangChain or LlamaIndex messages, (role, text)
                pairs, or plain strings, user and assistant alternating.
            filters: Restriction of the search: a Chroma ``where`` or :class:`Filters`.
            explore: Draw the action from :attr:`exploration` instead of taking the policy's most
                probable one; the propensity says with what probability it was drawn.
            retriever: Where to look; the rewriter's own by default.
            decision_id: Name of the decision; a random one by default.
            seed: Of this draw: the same seed, query and policy give the same action.
            session: Name of the conversation: a deployment divides by it, and the log tells it as
                the tag ``session_id``.

        Raises:
            InputError: The query isn't a string, the history is none that can be read, or the seed
                isn't a whole number.
        """
        asked = as_query(query, history=history, filters=filters)
        origin = Origin.of_call(session=session, decision_id=decision_id, seed=seed)
        ask = self._ask(asked, retriever, explore=explore, decision_id=decision_id)
        return decided(ask, self.opened(origin)).decision

    def warm_up(self, retriever: Retriever | None = None) -> bool:
        """Do now, without a time limit, what the first request would have to wait for.

        Has a deployment load its policies, embeds a text, searches, and opens or builds the BM25
        index. Where the policy's blend counts words that are spelt alike, they are prepared, too;
        a policy that comes later does that in its first request. Before a wrapped retriever call
        :meth:`warm_up` of the adapter, which knows what is searched there.

        Args:
            retriever: What will be searched; the rewriter's own by default.

        Returns:
            Whether all of that works; a warning says what doesn't, and requests are kept meanwhile.

        Raises:
            ServingError: In strict mode, instead.
        """
        own = retriever if retriever is not None else self.retriever
        return warmed(self._guard, self._policies, own)

    def opened(self, origin: Origin) -> Ticket:
        """Begin a request, for an adapter: it takes the ticket through all that is ours."""
        return Ticket(self._guard, self._policies, self.log, origin)

    def plan(
        self,
        query: Query,
        *,
        explore: bool = False,
        retriever: Retriever | None = None,
        ticket: Ticket | None = None,
        **settings: Any,
    ) -> Plan:
        """Decide, and hand on what was looked at, so that adapters don't search it again.

        Args:
            query: The query.
            explore: Whether the action is drawn.
            retriever: Where to look; the rewriter's own by default.
            ticket: The request that this is part of, whose holder limits its time; one of its own
                by default.
            settings: ``decision_id``, ``depth``, ``with_documents`` and ``allowed`` of
                :class:`rl_rewriter.serving.asking.Ask`.
        """
        ask = self._ask(query, retriever, explore=explore, **settings)
        if ticket is not None:
            return planned(ask, ticket)
        return decided(ask, self.opened(Origin(session=ask.decision_id or "")))

    def retrieve(
        self,
        query: Query | str,
        *,
        k: int = 10,
        history: Sequence[Any] | None = None,
        filters: Filters | Mapping[str, Any] | None = None,
        explore: bool = False,
        retriever: Retriever | None = None,
        decision_id: str | None = None,
        seed: int | None = None,
        session: str | None = None,
    ) -> Retrieved:
        """Decide and search.

        A kept query is served from the first ranking where one was looked at. A rewrite whose
        search fails is replaced by the query itself, with reason "fallback:search"; an error of
        that search is the retriever's own and passes through. Nothing is logged: hand decision and
        documents to :meth:`record`, as the adapters do.

        Args as for :meth:`decide`; ``k`` is the number of documents.

        Raises:
            InputError: The query isn't a string, the history is none that can be read, the seed no
                whole number, or k is below 1.
        """
        if k < 1:
            raise InputError(f"k must be at least 1, got {k}")
        target = retriever if retriever is not None else self._searchable()
        asked = as_query(query, history=history, filters=filters)
        origin = Origin.of_call(session=session, decision_id=decision_id, seed=seed)
        ask = self._ask(
            asked,
            target,
            explore=explore,
            decision_id=decision_id,
            depth=max(k, EVIDENCE_DEPTH),
            with_documents=True,
        )
        return retrieved(ask, self.opened(origin), target, k)

    def record(
        self,
        decision: RewriteDecision,
        documents: Ranking | Sequence[ScoredDocument],
        *,
        tags: Mapping[str, Any] | None = None,
    ) -> bool:
        """Append the decision and what came back to the decision log, where one is configured.

        Returns:
            Whether it is logged, or there is no log; a log that can't be written stops no chain.
            Serve the query's own documents where it isn't: no unlogged rewrite should be.

        Raises:
            ServingError: In strict mode, where it can't be written.
        """
        found = documents.documents() if isinstance(documents, Ranking) else documents
        with self.opened(Origin(tags=tags or {})) as ticket:
            return ticket.record(decision, found)

    def feedback(
        self,
        decision_id: str,
        value: float,
        kind: str = "reward",
        *,
        position: int | None = None,
        document_id: str | None = None,
    ) -> None:
        """Append an outcome to the decision log, now or days later, and tell it to listeners.

        Args:
            decision_id: The decision's id, or that of the run or trace it was part of.
            value: What was observed, on the scale of its kind.
            kind: "click", "thumb", "rating" and the like
                (:data:`rl_rewriter.rewards.feedback.KINDS`), or a name of your own.
            position: Rank from 0 of the document it is about.
            document_id: That document.

        Raises:
            InputError: There is no decision log, or the value isn't a finite number.
            OSError: The log can't be written; listeners aren't told then.
        """
        if self.log is None:
            raise InputError("feedback needs a decision log; construct the rewriter with log=PATH")
        if not isinstance(value, (int, float, np.number)) or not math.isfinite(value):
            raise InputError(f"feedback must be a finite number, got {value!r}")
        outcome = Feedback(decision_id, float(value), kind, time.time(), position, document_id)
        self.log.append_feedback(outcome)
        self._guard.tell_feedback(outcome)

    def _ask(
        self, query: Query, retriever: Retriever | None, *, explore: bool, **settings: Any
    ) -> Ask:
        return Ask(
            query=query,
            retriever=retriever if retriever is not None else self.retriever,
            seeds=self._seeds,
            exploration=self.exploration if explore else None,
            **settings,
        )

    def _searchable(self) -> Retriever:
        if self.retriever is None:
            raise InputError(
                "this rewriter has no retriever; construct it with from_chroma, from_retriever or "
                "load(..., retriever=...)"
            )
        return self.retriever
