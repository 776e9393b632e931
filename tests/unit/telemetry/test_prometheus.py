"""What a scrape tells of served requests, and that no stranger can make it grow."""

from __future__ import annotations

import copy
import pickle
import sys
import threading
import urllib.request
from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry, start_http_server

from rl_rewriter.errors import InputError, MissingExtraError
from rl_rewriter.telemetry.labels import OTHER, BoundedLabels, LatestLabels
from rl_rewriter.telemetry.prometheus import MAX_VALUES, MAX_VERSIONS, PrometheusListener
from rl_rewriter.types import Feedback
from tests.unit.telemetry.parts import Finished, decided


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def listener(registry: CollectorRegistry) -> PrometheusListener:
    return PrometheusListener(registry)


@pytest.fixture
def scrape(registry: CollectorRegistry) -> Iterator[str]:
    server, thread = start_http_server(0, addr="127.0.0.1", registry=registry)
    yield f"http://127.0.0.1:{server.server_port}/metrics"
    server.shutdown()
    thread.join()
    server.server_close()


def lines(url: str) -> list[str]:
    with urllib.request.urlopen(url) as answer:
        text: str = answer.read().decode()
    return [line for line in text.splitlines() if not line.startswith("#")]


def test_a_scrape_tells_what_was_served(listener: PrometheusListener, scrape: str) -> None:
    listener(Finished(decided(), adapter="langchain", searches=2, llm_calls=1, seconds=0.004))
    listener(Finished(decided(reason="fallback:timeout", action="keep"), adapter="langchain"))
    listener.on_feedback(Feedback("d1", 0.5, "thumb", 0.0))
    told = lines(scrape)
    for line in (
        'rl_rewriter_requests_total{adapter="langchain",reason="explored"} 1.0',
        'rl_rewriter_requests_total{adapter="langchain",reason="fallback:timeout"} 1.0',
        'rl_rewriter_actions_total{action="keywords"} 1.0',
        'rl_rewriter_policy_requests_total{policy_version="abc"} 2.0',
        'rl_rewriter_own_seconds_bucket{adapter="langchain",le="0.005"} 1.0',
        'rl_rewriter_own_seconds_count{adapter="langchain"} 2.0',
        'rl_rewriter_searches_bucket{le="1.0"} 1.0',
        "rl_rewriter_llm_calls_sum 1.0",
        'rl_rewriter_feedback_sum{kind="thumb"} 0.5',
        'rl_rewriter_feedback_count{kind="thumb"} 1.0',
    ):
        assert line in told
    assert "money" not in "".join(told)


def test_series_are_bounded_whatever_comes(listener: PrometheusListener, scrape: str) -> None:
    for number in range(3 * MAX_VALUES):
        name = f"n{number}"
        listener(Finished(decided(action=name, reason=name, policy_version=name), adapter=name))
        listener.on_feedback(Feedback("d1", 1.0, name, 0.0))
    told = lines(scrape)
    assert f'rl_rewriter_actions_total{{action="{OTHER}"}} {2 * MAX_VALUES}.0' in told
    versions = [line for line in told if line.startswith("rl_rewriter_policy_requests_total")]
    assert len(versions) == MAX_VERSIONS
    assert f'policy_version="n{3 * MAX_VALUES - 1}"' in "".join(versions)
    assert len(told) < 1_500


def test_threads_lose_no_request(listener: PrometheusListener, scrape: str) -> None:
    def serve(worker: int) -> None:
        for number in range(200):
            listener(Finished(decided(policy_version=f"v{(worker + number) % 50}")))

    threads = [threading.Thread(target=serve, args=(worker,)) for worker in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = 'rl_rewriter_requests_total{adapter="python",reason="explored"} 1600.0'
    assert expected in lines(scrape)


def test_two_listeners_on_one_registry_are_refused(registry: CollectorRegistry) -> None:
    PrometheusListener(registry)
    with pytest.raises(InputError, match="are on this registry already"):
        PrometheusListener(registry)
    PrometheusListener(registry, namespace="other")


def test_a_namespace_is_a_name() -> None:
    with pytest.raises(InputError, match="letters, digits"):
        PrometheusListener(CollectorRegistry(), namespace="a b")


def test_copies_count_to_the_same_metrics(listener: PrometheusListener) -> None:
    assert copy.deepcopy(listener) is listener
    unpickled = pickle.loads(pickle.dumps(listener))
    assert pickle.loads(pickle.dumps(listener)) is unpickled
    unpickled(Finished(decided()))


def test_a_chain_that_is_pickled_where_it_serves_counts_to_the_listener_it_has() -> None:
    listener = PrometheusListener(namespace="of_a_chain_that_is_pickled")
    assert pickle.loads(pickle.dumps(listener)) is listener


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(MissingExtraError, match=r"\[prometheus\]"):
        PrometheusListener()


def test_labels_keep_the_first_values() -> None:
    labels = BoundedLabels(2)
    assert [labels.of(value) for value in "abcab"] == ["a", "b", OTHER, "a", "b"]


def test_versions_keep_the_latest_values() -> None:
    labels = LatestLabels(2)
    assert [labels.use(value) for value in "abacb"] == [None, None, None, "b", "a"]
