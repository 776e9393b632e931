"""Questions that a language model makes of documents, and what is left out of its answers."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from rl_rewriter.benchmark.collections.judged import JudgedCollection
from rl_rewriter.benchmark.collections.read import read_collection
from rl_rewriter.benchmark.collections.synthetic import question_in, synthesise
from rl_rewriter.benchmark.collections.write import write_beir
from rl_rewriter.errors import InputError
from tests.support import DOCUMENTS


class Model:
    """Answers by the first word of the document that it is shown.

    Attributes:
        requests: What it was asked.
    """

    def __init__(self, **answers: str | Exception) -> None:
        self.answers = answers
        self.requests: list[str] = []
        self._lock = threading.Lock()

    def __call__(self, request: str) -> str:
        with self._lock:
            self.requests.append(request)
        first, second = request.split("Document:\n")[1].split()[:2]
        answer = self.answers.get(first, f"Who tells me of {first} and {second}?")
        if isinstance(answer, Exception):
            raise answer
        return answer


def made(model: Model, n: int = 12, seed: int = 0) -> JudgedCollection:
    return synthesise(DOCUMENTS, model, n_queries=n, seed=seed)


def test_a_question_judges_the_document_it_was_made_of() -> None:
    model = Model()
    found = made(model, 5)
    assert len(model.requests) == len(found.queries) == 5
    assert found.documents == dict(sorted(DOCUMENTS.items()))
    for query in found.queries:
        [id_] = found.qrels[query.id]
        assert query.text == "Who tells me of {} and {}?".format(*DOCUMENTS[id_].split())
        assert found.group_of(query) == id_
    assert found.kinds == {query.id: "synthetic" for query in found.queries}
    assert found.notes == (
        "synthetic questions: one relevant document each, all others unjudged, so values are lower "
        "bounds and only differences between actions count",
    )


def test_the_seed_chooses_the_documents() -> None:
    chosen = [set(made(Model(), 3, seed).qrels) for seed in (0, 0, 1)]
    assert chosen[0] == chosen[1] != chosen[2]
    turned = synthesise(dict(reversed(DOCUMENTS.items())), Model(), n_queries=3)
    assert set(turned.qrels) == chosen[0]


def test_no_more_calls_than_documents() -> None:
    model = Model()
    assert len(made(model, 100).queries) == len(model.requests) == len(DOCUMENTS)


def test_what_fails_or_is_of_no_use_is_left_out_and_counted() -> None:
    model = Model(
        Money=TimeoutError("too slow"),
        Parcels="NONE",
        Reset="1. Reset the password of your account by the link?",
        An="What does this document say about invoices?",
        The='Sure! Here is a question:\n\n"How long can I complain?"',
    )
    found = made(model)
    asked = {query.text: list(found.qrels[query.id]) for query in found.queries}
    # Three documents begin with "The": one question has three relevant documents.
    assert sorted(asked["How long can I complain?"]) == ["card", "size", "warranty"]
    assert not {"refund", "abroad", "password", "invoice"} & {
        d for ids in asked.values() for d in ids
    }
    assert found.notes[1:] == (
        "1 of 12 calls failed, such as 'TimeoutError: too slow'",
        "3 of 12 answers left out: 1 about the document, 1 copied from the document, 1 without a "
        "question",
    )


DOCUMENT = "How do I get my money back? Money is refunded to the card within five days."


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("**Question:** “When will my bank have it again?”", "When will my bank have it again?"),
        ("<think>hm</think>\n- refund how long", "refund how long"),
        ("refund", "refund"),
        ("How can I be paid again?", "How can I be paid again?"),
        ("退款多久到账？", "退款多久到账？"),
    ],
)
def test_questions_are_freed_of_what_surrounds_them(answer: str, expected: str) -> None:
    assert question_in(answer, DOCUMENT) == (expected, "")


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("", "without a question"),
        ("I'm sorry, I can't help with that.", "without a question"),
        ("...", "without a question"),
        ("how do i get my money back", "copied from the document"),
        ("Is money refunded to the card within five days?", "copied from the document"),
        (
            "What does the passage say in the text above? According to the passage",
            "about the document",
        ),
        ("本文说退款要多久？", "about the document"),
        ("why " * 100, "too long"),
    ],
)
def test_answers_that_are_of_no_use(answer: str, problem: str) -> None:
    assert question_in(answer, DOCUMENT) == (None, problem)


def test_a_copied_chinese_sentence_is_left_out() -> None:
    document = "退货后五天内退款到银行卡。"
    assert question_in("退货后五天内退款到银行卡", document)[1] == "copied from the document"
    assert question_in("钱什么时候能到我卡里？", document)[0] == "钱什么时候能到我卡里？"


def test_nothing_usable_at_all() -> None:
    class Down:
        def __call__(self, request: str) -> str:
            raise ConnectionError("down")

    with pytest.raises(InputError, match="no usable question: 2 of 2 calls failed, such as"):
        synthesise(DOCUMENTS, Down(), n_queries=2)


def test_what_cannot_be_asked_about() -> None:
    with pytest.raises(InputError, match="there are no documents to ask about"):
        synthesise({}, Model())
    with pytest.raises(InputError, match="documents must map ids to texts, got 'd': NoneType"):
        synthesise({"d": None}, Model())  # type: ignore[dict-item]
    with pytest.raises(InputError, match="the number of queries must be at least 1, got 0"):
        made(Model(), 0)
    with pytest.raises(InputError, match="document 'd' has no text"):
        synthesise({"d": " ", "e": "some words"}, Model())


def test_braces_and_long_documents_are_no_trouble() -> None:
    model = Model()
    found = synthesise({"d": "Braces {text} {0} " + "word " * 10_000}, model, n_queries=1)
    assert len(model.requests[0]) < 7_000
    assert "{text} {0}" in model.requests[0]
    assert len(found.queries) == 1


def test_progress_is_told() -> None:
    told: list[tuple[str, int, int]] = []
    synthesise(DOCUMENTS, Model(), n_queries=3, on_progress=lambda *step: told.append(step))
    assert told == [("asking for questions", n, 3) for n in (1, 2, 3)]


def test_questions_can_be_kept_as_a_folder(tmp_path: Path) -> None:
    found = made(Model())
    write_beir(found, tmp_path / "mine")
    again = read_collection(tmp_path / "mine")
    assert (again.queries, again.qrels, again.test) == (found.queries, found.qrels, found.test)
