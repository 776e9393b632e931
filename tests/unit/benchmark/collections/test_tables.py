"""Tables of a question and the documents that should be found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rl_rewriter.benchmark.collections.read import read_collection
from rl_rewriter.types import Turn
from tests.unit.benchmark.collections.conftest import Complaint


def table(shelf: Path, text: str, name: str = "questions.csv") -> Path:
    (shelf / name).write_text(text, encoding="utf-8")
    return shelf / name


def grades(path: Path) -> dict[str, dict[str, float]]:
    """Judgements by the question's words."""
    found = read_collection(path)
    return {query.text: dict(found.qrels[query.id]) for query in found.queries}


@pytest.mark.parametrize(
    "header",
    [
        "question,document",
        "Question,Document ID",
        "query,expected",
        "text,answer_id",
        "user_input,doc-id",
        "query,expected_document_ids",
        "query,corpus-id",
        "query,source",
    ],
)
def test_usual_headers(shelf: Path, header: str) -> None:
    path = table(shelf, f"{header}\nmoney back?,d1\n快递几天,d2\n")
    assert grades(path) == {"money back?": {"d1": 1.0}, "快递几天": {"d2": 1.0}}


@pytest.mark.parametrize(
    "cell", ["d1;d2", "d1 | d2", '"[""d1"", ""d2""]"', '"{""d1"": 1, ""d2"": 1}"', "d1;;d2;"]
)
def test_several_documents_in_a_cell(shelf: Path, cell: str) -> None:
    assert grades(table(shelf, f"question,documents\na,{cell}\n")) == {"a": {"d1": 1.0, "d2": 1.0}}


def test_all_columns(shelf: Path) -> None:
    history = json.dumps(["hello", "hi"]).replace('"', '""')
    path = table(
        shelf,
        "id,question,documents,grade,split,history,group,kind\n"
        f'a,one,d1;d2,2;0,train,"{history}",returns,short\n'
        "b,two,d1,,test,,,\n"
        "c,three,d1|d2,3,held-out,[],,\n",
    )
    found = read_collection(path)
    assert found.name == "questions"
    assert found.qrels == {
        "a": {"d1": 2.0, "d2": 0.0},
        "b": {"d1": 1.0},
        "c": {"d1": 3.0, "d2": 3.0},
    }
    assert found.train[0].history == (Turn("user", "hello"), Turn("assistant", "hi"))
    assert [query.id for query in found.test] == ["b", "c"]
    assert (found.protocol, found.groups, found.kinds) == (
        "split",
        {"a": "returns"},
        {"a": "short"},
    )


def test_rows_of_one_question_are_joined(shelf: Path) -> None:
    path = table(shelf, "question,document,grade\nmoney,d1,1\nmoney,d2,2\nMoney ,d1,1\n")
    found = read_collection(path)
    assert grades(path) == {"money": {"d1": 1.0, "d2": 2.0}}
    assert len(found.queries) == 1
    assert found.notes == (
        f"1 judgement given twice, such as that of 'd1' for {found.queries[0].id!r}",
    )


def test_ids_made_of_the_words_are_the_same_wherever_the_row_stands(shelf: Path) -> None:
    one = read_collection(table(shelf, "question,document\na,d1\nb,d1\n"))
    other = read_collection(table(shelf, "question,document\nc,d1\nb,d2\n"))
    assert one.queries[1].id == other.queries[1].id != one.queries[0].id


def test_a_question_on_both_sides_is_left_out_of_training(shelf: Path) -> None:
    path = table(shelf, "question,document,split\na,d1,train\na,d2,test\nb,d1,train\n")
    found = read_collection(path)
    assert [query.text for query in found.train] == ["b"]
    assert found.qrels[found.test[0].id] == {"d2": 1.0}
    assert found.notes[0].startswith("1 training query left out because a held-out query has the")


def test_a_question_without_documents_is_left_out(shelf: Path) -> None:
    found = read_collection(table(shelf, "id,question,document\nx,a,d1\ny,b,\n"))
    assert [query.id for query in found.queries] == ["x"]
    assert found.notes == ("1 query without judgements left out, such as 'y'",)


def test_tab_separated_columns_need_no_quotes(shelf: Path) -> None:
    path = table(shelf, 'question\tdocument\nsay "a", then b\td1\n', "questions.tsv")
    assert grades(path) == {'say "a", then b': {"d1": 1.0}}


@pytest.mark.parametrize("name", ["corpus.csv", "documents.csv", "corpus.tsv", "documents.tsv"])
@pytest.mark.parametrize("header", ["id,text\n", "doc_id,title,contents\n", ""])
def test_documents_in_a_table_beside_it(tmp_path: Path, name: str, header: str) -> None:
    has_title = "title" in header
    rows = header + ("d1,Refunds,Money.\n" if has_title else "d1,Money.\n")
    (tmp_path / name).write_text(rows.replace(",", "\t") if name.endswith("tsv") else rows)
    found = read_collection(table(tmp_path, "question,document\na,d1\n"))
    assert found.documents == {"d1": "Refunds\nMoney." if has_title else "Money."}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "frage,dokument\na,d1\n",
            "questions.csv line 1 names no column of the question: looked for question, query, "
            "user_input, query_text, question_text, input, text, found frage, dokument",
        ),
        (
            "question,answer\na,b\n",
            "questions.csv line 1 names no column of the expected document:",
        ),
        ("question,document,document\na,d1,d2\n", "questions.csv line 1: the column 'document'"),
        ("question,document\na,b,d1\n", "questions.csv line 2 has 3 cells where the header has 2;"),
        ("question,document\na\n", "questions.csv line 2 has 1 cells where the header has 2;"),
        ("question,document\na,d1\n,d2\n", "questions.csv line 3 has no question: looked for"),
        ("question,document\na,d9\n", "questions.csv: judgements name 1 unknown document, such as"),
        ("question,document\na,\n", "questions.csv names no expected document: looked for"),
        ("question,document\n", "questions.csv names no expected document: looked for"),
        ("\n", "questions.csv is empty"),
        ("question,document\na,[d1\n", "questions.csv line 2 is no JSON: "),
        ("question,document,grade\na,d1,x\n", "questions.csv line 2: a grade must be a finite"),
        (
            "question,document,grade\na,d1,1;2\n",
            "questions.csv line 2 has 2 grades for 1 documents",
        ),
        ("question,document,history\na,d1,x\n", "questions.csv line 2 is no JSON: "),
        (
            'question,document,history\na,d1,{"b":1}\n',
            "questions.csv line 2: the history is no list",
        ),
        (
            "id,question,document\n1,a,d1\n1,b,d1\n",
            "questions.csv line 3: the id '1' stands for an",
        ),
        (
            "id,question,document,split\n1,a,d1,test\n1,a,d2,\n",
            "questions.csv line 3: query '1' is",
        ),
        ("question,document,grade\na,d1,1\na,d1,2\n", "questions.csv line 3: document 'd1' is ju"),
    ],
)
def test_tables_that_cannot_be_used(
    shelf: Path, complaint: Complaint, text: str, expected: str
) -> None:
    assert complaint(table(shelf, text)).startswith(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("d1,a,b,c\n", "corpus.csv line 1 must name the columns (id, title, text), or have an id "),
        ("d1,a\nd2\n", "corpus.csv line 2 has 1 cells where the first row has 2"),
        ("id,text\n,a\n", "corpus.csv line 2: an id must be a text or a whole number, got ''"),
        ("id,text\nd1,a\nd1,b\n", "corpus.csv line 3: the id 'd1' stands twice"),
        ("id,text\nd1,\n", "corpus.csv line 2: document 'd1' has no text"),
        ("\n", "corpus.csv is empty"),
    ],
)
def test_documents_that_cannot_be_used(
    tmp_path: Path, complaint: Complaint, text: str, expected: str
) -> None:
    (tmp_path / "corpus.csv").write_text(text)
    assert complaint(table(tmp_path, "question,document\na,d1\n")).startswith(expected)


def test_without_documents_both_ways_out_are_said(tmp_path: Path, complaint: Complaint) -> None:
    said = complaint(table(tmp_path, "question,document\na,d1\n"))
    assert said.startswith(
        "questions.csv comes without documents: put them beside it as corpus.jsonl"
    )
    assert said.endswith("with --chroma-path DIR --collection NAME")
