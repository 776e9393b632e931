"""Counters and histograms of served requests, for Prometheus."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

from rl_rewriter.errors import InputError, MissingExtraError
from rl_rewriter.telemetry.labels import BoundedLabels, LatestLabels
from rl_rewriter.telemetry.protocols import FinishedRequest
from rl_rewriter.types import Feedback

SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
COUNTS = (0, 1, 2, 3, 5, 8)
MAX_VALUES = 100
"""Actions, reasons and kinds of feedback beyond so many count as "other"."""
MAX_VERSIONS = 20
"""Versions of policies with a series of their own: those that decided last."""


class PrometheusListener:
    """Counts finished requests on a registry of ``prometheus_client``.

    Labels stand apart rather than together, so that their numbers add and don't multiply:
    ``requests_total{adapter, reason}``, ``actions_total{action}``,
    ``policy_requests_total{policy_version}``; histograms ``own_seconds{adapter}``, ``searches``,
    ``llm_calls``; ``feedback{kind}`` with its count and sum. No label holds a word of a query.

    In prometheus_client's multiprocess mode the series of versions no longer in use stay, since a
    process can't remove what others count.

    Args:
        registry: Where the metrics are registered; prometheus_client's own by default.
        namespace: What their names begin with.

    Raises:
        InputError: The namespace is no name, or its metrics are on the registry already.
        MissingExtraError: prometheus-client isn't installed.
    """

    def __init__(self, registry: Any = None, *, namespace: str = "rl_rewriter") -> None:
        if not re.fullmatch("[a-zA-Z_][a-zA-Z0-9_]*", namespace):
            raise InputError(f"namespace must be letters, digits and _, got {namespace!r}")
        client = _client()
        registry = client.REGISTRY if registry is None else registry
        shared = {"namespace": namespace, "registry": registry}
        self._namespace = namespace
        try:
            self._requests = client.Counter(
                "requests", "Requests served.", ["adapter", "reason"], **shared
            )
            self._actions = client.Counter("actions", "Actions taken.", ["action"], **shared)
            self._versions = client.Counter(
                "policy_requests", "Requests by policy version.", ["policy_version"], **shared
            )
            self._seconds = client.Histogram(
                "own_seconds",
                "Seconds spent beside the base retriever's search.",
                ["adapter"],
                buckets=SECONDS,
                **shared,
            )
            self._searches = client.Histogram(
                "searches", "Searches beside the base retriever's.", buckets=COUNTS, **shared
            )
            self._llm_calls = client.Histogram(
                "llm_calls", "Calls of a language model.", buckets=COUNTS, **shared
            )
            self._feedback = client.Summary("feedback", "Feedback given.", ["kind"], **shared)
        except ValueError as error:
            raise InputError(
                f"metrics of the namespace {namespace!r} are on this registry already ({error}); "
                "share one PrometheusListener, or give another namespace"
            ) from None
        self._adapters, self._reasons = BoundedLabels(10), BoundedLabels(MAX_VALUES)
        self._names, self._kinds = BoundedLabels(MAX_VALUES), BoundedLabels(MAX_VALUES)
        self._latest = LatestLabels(MAX_VERSIONS)
        if registry is client.REGISTRY:
            _on_default_registry[namespace] = self

    def __call__(self, request: FinishedRequest) -> None:
        """Count one request."""
        decision = request.decision
        adapter = self._adapters.of(request.adapter)
        self._requests.labels(adapter, self._reasons.of(decision.reason)).inc()
        self._actions.labels(self._names.of(decision.action)).inc()
        self._count_version(decision.policy_version)
        self._seconds.labels(adapter).observe(request.seconds)
        self._searches.observe(request.searches)
        self._llm_calls.observe(request.llm_calls)

    def on_feedback(self, feedback: Feedback) -> None:
        """Count one outcome; its mean is ``feedback_sum / feedback_count``."""
        self._feedback.labels(self._kinds.of(feedback.kind)).observe(feedback.value)

    def _count_version(self, version: str) -> None:
        gone = self._latest.use(version)
        if gone is not None:
            with suppress(KeyError):  # chosen by another thread, which hasn't counted it yet
                self._versions.remove(gone)
        self._versions.labels(version).inc()

    def __deepcopy__(self, memo: dict[int, Any]) -> PrometheusListener:
        """A copy of a chain counts to the same metrics."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle: in another process it counts to that process's own default registry."""
        return shared_listener, (self._namespace,)


_on_default_registry: dict[str, PrometheusListener] = {}


def shared_listener(namespace: str = "rl_rewriter") -> PrometheusListener:
    """The one listener of this process on the default registry, whoever made it.

    Raises:
        InputError: As for :class:`PrometheusListener`.
        MissingExtraError: prometheus-client isn't installed.
    """
    return _on_default_registry.get(namespace) or PrometheusListener(namespace=namespace)


def _client() -> Any:
    try:
        import prometheus_client
    except ImportError:
        raise MissingExtraError("prometheus-client", "prometheus") from None
    return prometheus_client
