"""Judged questions made by a language model from the documents themselves."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rl_rewriter.actions.language_model import Answer, Answering, LanguageModel
from rl_rewriter.benchmark.collections.assemble import assemble
from rl_rewriter.benchmark.collections.files import Place
from rl_rewriter.benchmark.collections.judged import JudgedCollection
from rl_rewriter.benchmark.collections.parts import DocumentRow, Judgement, Parts, QueryRow
from rl_rewriter.errors import InputError
from rl_rewriter.text.llm_output import candidates
from rl_rewriter.text.tokens import tokenize
from rl_rewriter.training.splits import query_fingerprint
from rl_rewriter.types import OnProgress, Query

MAX_DOCUMENT_CHARS = 6_000
"""Of longer documents the beginning is shown to the model."""
MAX_QUESTION_CHARS = 300
COPIED_SHARE = 0.6
"""A question with this part of its three-word sequences in the document is a copy of it."""

REQUEST = """\
People search a collection that holds the document below. Write one question that this document
answers, the way somebody would ask it who has never seen the document: in plain words of their own,
in the document's language, about one thing that it tells. Don't reuse its sentences and don't
mention that there is a document. Answer with the question alone, or with NONE if the document
answers nothing that anyone would ask.

Document:
{text}
"""
"""What the model is asked for each document."""

_LIMITS = (
    "synthetic questions: one relevant document each, all others unjudged, so values are lower "
    "bounds and only differences between actions count"
)
_ABOUT_THE_DOCUMENT = re.compile(
    r"\b(?:according to|in|of|by|from) the (?:given |above )?(?:document|passage|text|excerpt)\b"
    r"|\bthis (?:document|passage|text|excerpt|article)\b|本文|文中|该文档|这篇文",
    re.IGNORECASE,
)


class _Question(NamedTuple):
    document_id: str
    text: str


def synthesise(
    documents: Mapping[str, str],
    ask: Any,
    *,
    n_queries: int = 100,
    seed: int = 0,
    name: str = "synthetic",
    on_progress: OnProgress | None = None,
) -> JudgedCollection:
    """Ask a language model for one question on each of some documents, and judge that document.

    For a collection that nobody has judged. What such questions can't tell: other documents may
    answer them too, so all values are lower bounds; they are easier and more alike than what people
    ask; and there are no conversations. They serve to compare actions and to see whether there is
    anything to learn; a few hundred questions of real users, judged, are better.

    A failing call, an answer without a question, one that copies the document and one that speaks
    of "this document" are left out and counted in ``notes``. Questions on one document share its
    group, so that a split has no document on both sides.

    Args:
        documents: Document id -> text.
        ask: A function from request to answer, a LangChain chat model, a LlamaIndex LLM, or a
            :class:`~rl_rewriter.actions.language_model.LanguageModel`, which keeps answers in a
            file and has a time limit. It is asked from several threads.
        n_queries: Documents to ask about, so calls at most; usable questions may be fewer.
        seed: Seed of the choice of documents.
        name: For tables.
        on_progress: Told how many answers there are.

    Raises:
        InputError: There are no documents, a text is empty, or no answer is a usable question.
    """
    if n_queries < 1:
        raise InputError(f"the number of queries must be at least 1, got {n_queries}")
    rows = _document_rows(name, documents)
    asked = ask if isinstance(ask, Answering) else LanguageModel(ask)
    order = np.random.default_rng(seed).permutation(len(rows))[:n_queries].tolist()
    requests = {row.id: _request(row.text) for row in (rows[position] for position in order)}

    def tell(done: int) -> None:
        if on_progress is not None:
            on_progress("asking for questions", done, len(requests))

    answers = asked.answer_all(list(requests.values()), tell)
    questions, notes = _usable(documents, {i: answers[text] for i, text in requests.items()})
    return assemble(_parts(name, rows, questions, notes))


def question_in(answer: str, document: str) -> tuple[str | None, str]:
    """The question of a model's answer, or None and why it is of no use.

    Args:
        answer: What the model said.
        document: What it was asked about.
    """
    found = candidates(answer)
    if not found:
        return None, "without a question"
    text = found[0]
    if len(text) > MAX_QUESTION_CHARS:
        return None, "too long"
    if _ABOUT_THE_DOCUMENT.search(text):
        return None, "about the document"
    if _copied_share(text, document) >= COPIED_SHARE:
        return None, "copied from the document"
    return text, ""


def _request(text: str) -> str:
    return REQUEST.format(text=text[:MAX_DOCUMENT_CHARS])


def _copied_share(text: str, document: str) -> float:
    """Part of a text's sequences of three tokens that the document has; 0 for shorter texts."""
    sequences = _sequences(text)
    return len(sequences & _sequences(document)) / len(sequences) if sequences else 0.0


def _sequences(text: str) -> set[tuple[str, ...]]:
    tokens = tokenize(text)
    return set(zip(tokens, tokens[1:], tokens[2:], strict=False))


def _usable(
    documents: Mapping[str, str], answers: Mapping[str, Answer]
) -> tuple[list[_Question], tuple[str, ...]]:
    """Questions, and notes on what was left out.

    Raises:
        InputError: Nothing is left.
    """
    questions: list[_Question] = []
    refused: Counter[str] = Counter()
    problems: list[str] = []
    for id_, answer in answers.items():
        if answer.text is None:
            problems.append(answer.problem)
            continue
        text, problem = question_in(answer.text, documents[id_][:MAX_DOCUMENT_CHARS])
        if text is None:
            refused[problem] += 1
        else:
            questions.append(_Question(id_, text))
    notes = [_LIMITS]
    if problems:
        notes.append(f"{len(problems)} of {len(answers)} calls failed, such as {problems[0]!r}")
    if refused:
        reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(refused.items()))
        notes.append(f"{refused.total()} of {len(answers)} answers left out: {reasons}")
    if not questions:
        raise InputError(f"the model gave no usable question: {'; '.join(notes[1:])}")
    return questions, tuple(notes)


def _document_rows(name: str, documents: Mapping[str, str]) -> list[DocumentRow]:
    for id_, text in documents.items():
        if not isinstance(id_, str) or not isinstance(text, str):
            raise InputError(f"documents must map ids to texts, got {id_!r}: {type(text).__name__}")
    if not documents:
        raise InputError("there are no documents to ask about")
    return [DocumentRow(id_, documents[id_], Place(Path(name))) for id_ in sorted(documents)]


def _parts(
    name: str,
    documents: Sequence[DocumentRow],
    questions: Sequence[_Question],
    notes: tuple[str, ...],
) -> Parts:
    place = Place(Path(name))
    ids = [query_fingerprint(Query(question.text)) for question in questions]
    queries: dict[str, QueryRow] = {}
    for id_, (document_id, text) in zip(ids, questions, strict=True):
        queries.setdefault(id_, QueryRow(id_, text, place, group=document_id, kind="synthetic"))
    return Parts(
        name=name,
        source=Path(name),
        documents=documents,
        queries=queries.values(),
        judgements=[
            Judgement(id_, question.document_id, 1.0, place)
            for id_, question in zip(ids, questions, strict=True)
        ],
        notes=notes,
    )
