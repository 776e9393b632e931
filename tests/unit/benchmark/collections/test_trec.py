"""Topics and qrels as they really look."""

from __future__ import annotations

from pathlib import Path

import pytest

from rl_rewriter.benchmark.collections.read import read_collection
from tests.unit.benchmark.collections.conftest import Complaint

CLASSIC = """\

<top>

<num> Number: 301
<title> International Organized Crime

<desc> Description:
Identify organizations that participate in crime.

<narr> Narrative:
A relevant document must &amp;c.

</top>

<top>
<num> Number: 051 <dom> Domain: Law
<title> Topic: Airbus
 Subsidies &amp; tariffs, p < 0.05

<desc> Description:
Anything.
</top>
"""
QRELS = "301 0 d1 1\n51 0 d2 2\n51 Q0 d1 0\n"


def folder(shelf: Path, topics: str, qrels: str = QRELS, *, name: str = "topics.301-350") -> Path:
    (shelf / name).write_text(topics)
    (shelf / "qrels.trec8.txt").write_text(qrels)
    return shelf


def texts(path: Path) -> dict[str, str]:
    return {query.id: query.text for query in read_collection(path).queries}


def test_classic_topics(shelf: Path) -> None:
    found = read_collection(folder(shelf, CLASSIC))
    assert {query.id: query.text for query in found.queries} == {
        "301": "International Organized Crime",
        "51": "Airbus Subsidies & tariffs, p < 0.05",
    }
    assert found.qrels == {"301": {"d1": 1.0}, "51": {"d2": 2.0, "d1": 0.0}}
    assert found.protocol == "cv5"


@pytest.mark.parametrize(
    "topics",
    [
        "<TOP><NUM>301</NUM><TITLE>crime</TITLE></TOP><top><num>51<title>airbus</top>",
        "<top>\n<num>301\n<title>crime\n<top>\n<num>Number:51\n<title>airbus\n",
        '<topics>\n<topic number="301">\n<query>crime</query><question>what?</question></topic>\n'
        "<topic type='x' number='51'><query>airbus</query></topic></topics>",
        "<top><num>301<title>\n<desc> Description:\ncrime\n</top>\n<top><num>51<title> airbus",
        "301\tcrime\n051\tairbus\n",
        "qid\tquery\n301\tcrime\n51\tairbus\n",
    ],
)
def test_topics_of_other_looks(shelf: Path, topics: str) -> None:
    assert texts(folder(shelf, topics)) == {"301": "crime", "51": "airbus"}


def test_topics_and_judgements_in_parts_are_a_split(shelf: Path) -> None:
    (shelf / "topics.train.tsv").write_text("1\tone\n")
    (shelf / "topics.test.tsv").write_text("2\ttwo\n")
    (shelf / "qrels").mkdir()
    (shelf / "qrels" / "train.txt").write_text("1 0 d1 1\n")
    (shelf / "qrels" / "test.txt").write_text("2\t0\td2\t1\n")
    found = read_collection(shelf)
    assert found.protocol == "split"
    assert ([q.id for q in found.train], [q.id for q in found.test]) == (["1"], ["2"])


def test_parts_that_tell_no_split_are_joined(shelf: Path) -> None:
    folder(shelf, "301\ta\n51\tb\n", "301 0 d1 1\n", name="queries.tsv")
    (shelf / "qrels.351-400").write_text("51 0 d1 1\n")
    assert read_collection(shelf).protocol == "cv5"
    assert set(texts(shelf)) == {"301", "51"}


def test_documents_in_a_table(tmp_path: Path) -> None:
    (tmp_path / "documents.tsv").write_text('d1\t"Money" is back\nd2\tTwo days\n')
    found = read_collection(folder(tmp_path, CLASSIC))
    assert found.documents == {"d1": '"Money" is back', "d2": "Two days"}


@pytest.mark.parametrize(
    ("topics", "expected"),
    [
        ("\n\n<top>\n<title>no number\n", "topics.301-350 line 3: a topic has no number: '<top>"),
        ("<html>\n<title>a</title>\n", "topics.301-350 has no topic: <top> or <topic>"),
        ("301 crime\n", "topics.301-350 line 1 must be an id and a text between tabs, got '301 c"),
        ("301\ta\n\tb\n", "topics.301-350 line 2 must be an id and a text between tabs"),
        ("\n", "topics.301-350 is empty"),
        ("301\ta\n301\tb\n51\tc\n", "topics.301-350 line 2: the id '301' stands twice"),
        ("301\ta\n", "FOLDER: judgements name 1 unknown query, such as '51'"),
        ("301\ta\n51\t\n", "topics.301-350 line 2: query '51' has no text"),
    ],
)
def test_topics_that_cannot_be_used(
    shelf: Path, complaint: Complaint, topics: str, expected: str
) -> None:
    assert complaint(folder(shelf, topics)).startswith(expected)


def test_judgements_that_cannot_be_used(shelf: Path, complaint: Complaint) -> None:
    folder(shelf, CLASSIC, "301 0 d1\n")
    assert complaint(shelf).startswith("qrels.trec8.txt line 1 must be query-id, corpus-id and")
    (shelf / "qrels.trec8.txt").write_text("301 0 d1 x\n")
    assert complaint(shelf) == "qrels.trec8.txt line 1: a grade must be a finite number, got 'x'"


def test_topics_without_judgements(shelf: Path, complaint: Complaint) -> None:
    (shelf / "topics.txt").write_text(CLASSIC)
    assert complaint(shelf) == (
        "FOLDER has topics (topics.txt) but no judgements: no file has qrels in its name, found "
        "corpus.jsonl, topics.txt"
    )


def test_many_topics_are_read_in_one_pass(shelf: Path) -> None:
    topics = "".join(f"<top>\n<num>{n}\n<title>query {n} <b\n</top>\n" for n in range(1, 5001))
    qrels = "".join(f"{n} 0 d1 1\n" for n in range(1, 5001))
    assert texts(folder(shelf, topics, qrels))["5000"] == "query 5000"
