"""Folders as TREC distributes them: topics, qrels, and documents beside them."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from rl_rewriter.benchmark.collections.documents import documents_beside
from rl_rewriter.benchmark.collections.fields import QUERY_ID, field_name
from rl_rewriter.benchmark.collections.files import (
    Place,
    read_lines,
    read_text,
    sample,
    shown,
)
from rl_rewriter.benchmark.collections.parts import Judgement, Parts, QueryRow
from rl_rewriter.benchmark.collections.qrels import read_qrels
from rl_rewriter.benchmark.collections.values import is_held_out
from rl_rewriter.errors import InputError

_TOPIC = re.compile(r"<top>|<topic[\s>]", re.IGNORECASE)
_NUMBER = re.compile(
    r"<topic\s[^>]*?\bnumber\s*=\s*[\"']?([^\s\"'>]+)|<num>\s*(?:number\s*:)?\s*([^\s<]+)",
    re.IGNORECASE,
)
_TEXT_TAGS = ("title", "query", "question", "desc")
"""Where a topic's words are looked for, the shortest form first."""
_LABEL = re.compile(r"^\s*(?:topic|title|description)\s*:", re.IGNORECASE)


def topic_files(folder: Path) -> list[Path]:
    """Files of topics: ``topics*``, ``queries*.tsv`` or ``queries*.txt``."""
    names = ("topics*", "queries*.tsv", "queries*.txt")
    return sorted(path for name in names for path in folder.glob(name) if path.is_file())


def trec_parts(folder: Path, topics: Sequence[Path]) -> Parts:
    """What a folder with topics and qrels holds.

    Topics are in TREC's markup (``<top>``, ``<num>``, ``<title>``; end tags may be missing) or
    lines of id and text between tabs. Every file with "qrels" in its name is read; "test" in the
    name means that its topics are held out. Leading zeros of numbers don't count.

    Args:
        folder: The folder.
        topics: Its files of topics.

    Raises:
        InputError: There are no judgements, or a file cannot be read.
    """
    found = [p for place in (folder, folder / "qrels") if place.is_dir() for p in place.iterdir()]
    qrels = sorted(p for p in found if p.is_file() and _is_qrels(p))
    if not qrels:
        raise InputError(
            f"{folder} has topics ({topics[0].name}) but no judgements: no file has qrels in its "
            f"name, found {sample(sorted(path.name for path in found))}"
        )
    return Parts(
        name=folder.resolve().name,
        source=folder,
        documents=documents_beside(folder),
        queries=chain.from_iterable(_topics(path) for path in topics),
        judgements=chain.from_iterable(_judgements(path) for path in qrels),
    )


def _is_qrels(path: Path) -> bool:
    if path.name.startswith(".") or path.suffix == ".md":
        return False
    return "qrels" in path.name.lower() or path.parent.name == "qrels"


def _judgements(path: Path) -> Iterator[Judgement]:
    for row in read_qrels(path, held_out=is_held_out(path.name)):
        yield row._replace(query_id=_canonical(row.query_id))


def _topics(path: Path) -> Iterator[QueryRow]:
    _, first = next(read_lines(path), (0, ""))
    if not first:
        raise InputError(f"{path} is empty")
    yield from _marked_up(path) if first.lstrip().startswith("<") else _tab_separated(path)


def _tab_separated(path: Path) -> Iterator[QueryRow]:
    for number, line in read_lines(path):
        id_, tab, text = line.partition("\t")
        place = Place(path, number)
        if not tab or not id_.strip():
            raise InputError(f"{place} must be an id and a text between tabs, got {shown(line)}")
        if number > 1 or field_name(id_) not in QUERY_ID:
            yield QueryRow(_canonical(id_), text.strip(), place)


def _marked_up(path: Path) -> Iterator[QueryRow]:
    for place, topic in _split_topics(path):
        number = _NUMBER.search(topic)
        if number is None:
            raise InputError(f"{place}: a topic has no number: {shown(topic[:200])}")
        yield QueryRow(_canonical(number[1] or number[2]), _words_of(topic), place)


def _split_topics(path: Path) -> Iterator[tuple[Place, str]]:
    """The markup of each topic, from its first tag to the next topic's."""
    text = read_text(path)
    starts = [found.start() for found in _TOPIC.finditer(text)]
    if not starts:
        raise InputError(f"{path} has no topic: <top> or <topic> stands nowhere")
    line = 1 + text.count("\n", 0, starts[0])
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        yield Place(path, line), text[start:end]
        line += text.count("\n", start, end)


def _words_of(topic: str) -> str:
    """The first text tag that has words; a tag that isn't closed ends where the next begins."""
    for tag in _TEXT_TAGS:
        found = re.search(rf"<{tag}\b[^>]*>(.*?)(?=</?[a-z]|\Z)", topic, re.IGNORECASE | re.DOTALL)
        text = " ".join(html.unescape(_LABEL.sub("", found[1])).split()) if found else ""
        if text:
            return text
    return ""


def _canonical(id_: str) -> str:
    id_ = id_.strip()
    return (id_.lstrip("0") or "0") if id_.isdecimal() else id_
