"""A forked process waits for no lock and no answer of threads that stayed with its parent."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from rl_rewriter.actions.language_model import Answer, LanguageModel
from rl_rewriter.integrations._capture import OpenRuns
from rl_rewriter.monitoring.watch import DriftWatch
from rl_rewriter.retrieval.bm25 import Bm25Index
from rl_rewriter.retrieval.chroma_bm25 import ChromaBm25
from rl_rewriter.telemetry.labels import BoundedLabels, LatestLabels
from rl_rewriter.text.alike import Vocabulary, ask_alike
from rl_rewriter.types import Feedback, Rewrite
from tests.faults import Stall

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system can't fork"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]


class Pages:
    """As much of a collection as BM25 reads: the store's own threads don't outlive a fork."""

    id = "pages"
    texts = ("money is refunded", "a parcel from abroad")

    def get(self, *, include: list[str], limit: int = 100, offset: int = 0) -> dict[str, list[str]]:
        return {"ids": ["refund", "abroad"], "documents": list(self.texts)}

    def count(self) -> int:
        return len(self.texts)


def holds_in_a_fork(check: Callable[[], bool]) -> bool:
    """Whether ``check`` says yes in a forked process, within ten seconds."""
    child = os.fork()
    if child == 0:
        signal.alarm(10)  # ends a child that waits for ever
        try:
            is_fine = check()
        except BaseException:
            is_fine = False
        os._exit(0 if is_fine else 1)
    return os.waitpid(child, 0)[1] == 0


def test_a_question_that_a_thread_of_the_parent_asks_is_asked_again() -> None:
    parent, stall = os.getpid(), Stall()

    def ask(prompt: str) -> str:
        if os.getpid() == parent:
            stall()
        return prompt.upper()

    model = LanguageModel(ask)
    asking = threading.Thread(target=model.answer, args=("a",))
    asking.start()
    assert stall.reached.wait(10)
    with model._lock:  # as a thread of the parent may hold it
        assert holds_in_a_fork(lambda: model.answer("a") == Answer("A"))
    stall.let_go()
    asking.join(10)
    assert model.answer("a") == Answer("A")


def test_a_spelling_that_a_thread_of_the_parent_makes_is_made_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stall, parent = Stall(), os.getpid()
    asked = Rewrite((ask_alike("parcels"),))

    def made(self: Vocabulary, words: Iterable[str]) -> None:
        if os.getpid() == parent:
            stall()
        original(self, words)

    original = Vocabulary.__init__
    monkeypatch.setattr(Vocabulary, "__init__", made)
    index, other = (Bm25Index(("refund", "abroad"), Pages.texts) for _ in range(2))
    making = threading.Thread(target=index.top, args=(asked, 1))
    making.start()
    assert stall.reached.wait(10)
    assert holds_in_a_fork(lambda: index.top(asked, 1).ids == ("abroad",))
    assert holds_in_a_fork(lambda: other.top(asked, 1).ids == ("abroad",))
    stall.let_go()
    making.join(10)
    assert index.knows_spelling


def test_a_bm25_index_that_a_thread_of_the_parent_builds_is_built_again(tmp_path: Path) -> None:
    index = ChromaBm25(Pages(), cache_dir=tmp_path)

    def finds() -> bool:
        return index.current_index().top(Rewrite(("parcel",)), 1).ids == ("abroad",)

    with index.kept.lock:
        assert holds_in_a_fork(finds)
    assert finds()


@pytest.mark.parametrize("labels", [BoundedLabels(2), LatestLabels(2)])
def test_a_metric_that_a_thread_of_the_parent_counts_is_counted_on(
    labels: BoundedLabels | LatestLabels,
) -> None:
    use = labels.of if isinstance(labels, BoundedLabels) else labels.use
    with labels._lock:
        assert holds_in_a_fork(lambda: use("a") in ("a", None))


def test_a_run_that_a_thread_of_the_parent_opens_holds_nobody_up() -> None:
    runs = OpenRuns()
    with runs._lock:
        assert holds_in_a_fork(lambda: runs.close("unknown") is None)


def test_drift_that_a_thread_of_the_parent_looks_at_is_looked_at_on() -> None:
    watch = DriftWatch()

    def hears() -> bool:
        watch.on_feedback(Feedback("d", 1.0, "thumb", 0.0))
        return watch.failures == 0

    with watch._lock, watch._looking:
        assert holds_in_a_fork(hears)
