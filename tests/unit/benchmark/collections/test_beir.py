"""What a folder in BEIR layout may hold, and how each thing that is wrong with one is named."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from rl_rewriter.benchmark.collections.read import read_collection
from rl_rewriter.errors import InputError
from rl_rewriter.types import Turn
from tests.beir import write_beir, write_rows

DOCUMENTS = {"d1": "Money is refunded.", "d2": "快递两天送达。"}
QUERIES = [
    {"_id": "q1", "text": "money back", "need": "refund", "kind": "short"},
    {"_id": "q2", "text": "快递几天", "group": "delivery"},
    {"_id": "q3", "text": "never judged"},
]
QRELS = {
    "qrels/train.tsv": {"q1": {"d1": 2.0, "d2": 0.0}},
    "qrels/test.tsv": {"q2": {"d2": 1.0}},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_beir(tmp_path / "shop", documents=DOCUMENTS, queries=QUERIES, qrels=QRELS)


def complaint(folder: Path) -> str:
    """The one sentence that loading ends with, the folder's own path left out."""
    with pytest.raises(InputError) as caught:
        read_collection(folder)
    text = str(caught.value)
    assert "\n" not in text
    return text.replace(str(folder), "DATA")


def test_a_folder_with_a_split(folder: Path) -> None:
    found = read_collection(folder)
    assert found.name == "shop"
    assert found.documents == DOCUMENTS
    assert [query.id for query in found.queries] == ["q1", "q2"]
    assert [query.text for query in found.train] == ["money back"]
    assert [query.text for query in found.test] == ["快递几天"]
    assert found.qrels == {"q1": {"d1": 2.0, "d2": 0.0}, "q2": {"d2": 1.0}}
    assert found.protocol == "split"
    assert found.groups == {"q1": "refund", "q2": "delivery"}
    assert found.kinds == {"q1": "short"}


def test_its_name_can_be_given(folder: Path) -> None:
    assert read_collection(folder, name="demo").name == "demo"


def test_a_title_stands_before_the_text(folder: Path) -> None:
    rows: list[dict[str, object]] = [
        {"_id": "d1", "title": "Refunds", "text": "Money."},
        {"_id": "d2", "title": "", "text": "B"},
        {"_id": 3, "title": "Title only", "text": None},
        {"_id": "d4", "text": "no title"},
    ]
    write_rows(folder / "corpus.jsonl", rows)
    assert read_collection(folder).documents == {
        "d1": "Refunds\nMoney.",
        "d2": "B",
        "3": "Title only",
        "d4": "no title",
    }


def test_one_file_of_judgements_is_cross_validated(folder: Path) -> None:
    for part in ("train", "test"):
        (folder / "qrels" / f"{part}.tsv").unlink()
    (folder / "qrels.tsv").write_text("q1\td1\t1\nq2\td2\t1\n")  # a header isn't needed
    found = read_collection(folder)
    assert found.protocol == "cv5"
    assert len(found.train) == len(found.test) == 1


@pytest.mark.parametrize("part", ["train", "test"])
def test_one_part_alone_is_no_split(folder: Path, part: str) -> None:
    qrels = {f"qrels/{part}.tsv": {"q1": {"d1": 1.0}, "q2": {"d2": 1.0}}}
    other = write_beir(folder / "other", documents=DOCUMENTS, queries=QUERIES, qrels=qrels)
    assert read_collection(other).protocol == "cv5"


@pytest.mark.parametrize("name", ["all.tsv", "judgements.tsv"])
def test_one_file_of_another_name_is_cross_validated(folder: Path, name: str) -> None:
    for part in ("train", "test"):
        (folder / "qrels" / f"{part}.tsv").unlink()
    (folder / "qrels" / name).write_text("q1\t0\td1\t1\nq2 0 d2 1\n")  # TREC's four columns
    found = read_collection(folder)
    assert found.protocol == "cv5"
    assert found.qrels == {"q1": {"d1": 1.0}, "q2": {"d2": 1.0}}


def test_files_beside_the_parts_of_a_split_are_left_alone(folder: Path) -> None:
    (folder / "qrels" / "all.tsv").write_text("q3\td1\t1\n")
    found = read_collection(folder)
    assert [query.id for query in found.queries] == ["q1", "q2"]
    assert found.notes[0] == "not read beside the parts of the split: all.tsv"


def test_several_files_that_tell_no_split(folder: Path) -> None:
    for part in ("train", "test"):
        (folder / "qrels" / f"{part}.tsv").rename(folder / "qrels" / f"{part}-1.tsv")
    assert complaint(folder) == (
        "DATA/qrels holds test-1.tsv, train-1.tsv; which of them are for training and for testing "
        "is told by the names train.tsv, dev.tsv and test.tsv"
    )


def test_a_query_of_two_training_files_is_one(folder: Path) -> None:
    (folder / "qrels" / "dev.tsv").write_text("q1\td2\t0\nq1\td1\t2\n")
    found = read_collection(folder)
    assert found.qrels["q1"] == {"d1": 2.0, "d2": 0.0}
    assert "2 judgements given twice, such as that of 'd1' for 'q1'" in found.notes


def test_dev_queries_are_for_training(folder: Path) -> None:
    (folder / "qrels" / "dev.tsv").write_text("q3\td1\t1\n")
    found = read_collection(folder)
    assert [query.id for query in found.train] == ["q1", "q3"]


def test_history_in_its_several_forms(folder: Path) -> None:
    earlier = [
        ["first", "answer"],
        [["user", "first"], ["assistant", "answer"]],
        [{"role": "user", "content": "first"}, {"role": "assistant", "content": "answer"}],
    ]
    for history in earlier:
        write_rows(folder / "queries.jsonl", [{**QUERIES[0], "history": history}, QUERIES[1]])
        [query, _] = read_collection(folder).queries
        assert query.history == (Turn("user", "first"), Turn("assistant", "answer"))


def test_windows_line_ends_and_blank_lines(folder: Path) -> None:
    for name in ("corpus.jsonl", "queries.jsonl", "qrels/train.tsv"):
        path = folder / name
        path.write_bytes(b"\r\n".join([*path.read_bytes().splitlines(), b"", b""]))
    found = read_collection(folder)
    assert found.documents == DOCUMENTS
    assert found.qrels["q1"] == {"d1": 2.0, "d2": 0.0}


def test_a_line_separator_within_a_text_ends_no_line(folder: Path) -> None:
    write_rows(folder / "queries.jsonl", [{"_id": "q1", "text": "a\u2028b"}, QUERIES[1]])
    assert read_collection(folder).queries[0].text == "a\u2028b"


def test_queries_without_documents(folder: Path) -> None:
    (folder / "corpus.jsonl").unlink()
    assert complaint(folder) == (
        'DATA comes without documents: put them beside it as corpus.jsonl ({"_id": ..., "text": '
        "...} on each line), or name the Chroma collection that holds them with --chroma-path DIR "
        "--collection NAME"
    )


def test_packed_files(folder: Path) -> None:
    for name in ("corpus.jsonl", "queries.jsonl"):
        (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes()))
        (folder / name).unlink()
    found = read_collection(folder)
    assert found.documents == DOCUMENTS
    assert len(found.queries) == 2


def test_no_judgements_at_all(folder: Path) -> None:
    for part in ("train", "test"):
        (folder / "qrels" / f"{part}.tsv").unlink()
    assert complaint(folder) == (
        "DATA has no judgements: neither qrels.tsv nor qrels/train.tsv and qrels/test.tsv"
    )


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl"])
@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ('{"_id": "d1", "text": "a"}\n\n{"_id": "d2", ', " line 3 is no JSON: "),
        ('{"_id": "d1", "text": "a"}\n["d2"]\n', " line 2 is no JSON object"),
        ('{"text": "a"}\n', ' line 1 has no "_id"'),
        ('{"_id": "d1", "text": "a"}\n{"_id": "d1"}\n', " line 2: the id 'd1' stands twice"),
        ('{"_id": "1", "text": "a"}\n{"_id": 1}\n', " line 2: the id '1' stands twice"),
        ("\n \n", " is empty"),
        ('{"_id": 1.5, "text": "a"}\n', " line 1: an id must be a text or a whole number, got 1.5"),
        ('{"_id": " ", "text": "a"}\n', " line 1: an id must be a text or a whole number, got ' '"),
        ("[" * 100_000, " line 1 is nested too deeply"),
    ],
)
def test_lines_that_cannot_be_read(folder: Path, name: str, lines: str, expected: str) -> None:
    (folder / name).write_text(lines)
    assert complaint(folder).startswith(f"DATA/{name}{expected}")


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"])
def test_a_file_that_is_not_utf8(folder: Path, name: str) -> None:
    with (folder / name).open("ab") as file:
        file.write('{"_id": "é"}\n'.encode("latin-1"))
    assert complaint(folder).startswith(f"DATA/{name} is not UTF-8: ")


def test_documents_without_words(folder: Path) -> None:
    rows = [{"_id": "d1", "text": "a"}, {"_id": "d2", "text": " "}, {"_id": "d3", "title": ""}]
    write_rows(folder / "corpus.jsonl", rows)
    assert complaint(folder) == (
        "DATA/corpus.jsonl line 2: document 'd2' has no text, like 1 other"
    )


def test_a_document_that_is_no_text(folder: Path) -> None:
    write_rows(folder / "corpus.jsonl", [{"_id": "d1", "text": ["a"]}])
    assert complaint(folder) == "DATA/corpus.jsonl line 1: the text of document 'd1' is no text"


@pytest.mark.parametrize("text", [None, "", " \n", 7])
def test_a_query_without_words(folder: Path, text: object) -> None:
    write_rows(folder / "queries.jsonl", [{"_id": "q1", "text": text}, QUERIES[1]])
    assert complaint(folder) == "DATA/queries.jsonl line 1: query 'q1' has no text"


@pytest.mark.parametrize("history", ["one string", 7, {"role": "user", "content": "a"}])
def test_a_history_that_is_no_list(folder: Path, history: object) -> None:
    write_rows(folder / "queries.jsonl", [QUERIES[0] | {"history": history}, QUERIES[1]])
    assert complaint(folder) == ("DATA/queries.jsonl line 1: the history is no list of turns")


def test_a_turn_that_is_no_message(folder: Path) -> None:
    write_rows(folder / "queries.jsonl", [QUERIES[0] | {"history": ["first", 7]}, QUERIES[1]])
    assert complaint(folder).startswith("DATA/queries.jsonl line 1: a turn of the history must be ")


def test_a_query_that_nobody_judged_may_be_empty(folder: Path) -> None:
    write_rows(folder / "queries.jsonl", [*QUERIES[:2], {"_id": "q3", "text": ""}])
    assert len(read_collection(folder).queries) == 2


@pytest.mark.parametrize("line", ["q1 d1 1", "q1\td1", "q1\t0\td1\t1\t2"])
def test_judgements_that_cannot_be_read(folder: Path, line: str) -> None:
    (folder / "qrels" / "train.tsv").write_text(f"query-id\tcorpus-id\tscore\nq1\td1\t1\n{line}\n")
    assert complaint(folder) == (
        "DATA/qrels/train.tsv line 3 must be query-id, corpus-id and score between tabs, or TREC's "
        f"four columns, got {line!r}"
    )


@pytest.mark.parametrize("grade", ["high", "nan", "inf", ""])
def test_grades_that_are_no_numbers(folder: Path, grade: str) -> None:
    (folder / "qrels" / "train.tsv").write_text(f"q1\td1\t1\nq1\td2\t{grade}\n")
    assert complaint(folder) == (
        f"DATA/qrels/train.tsv line 2: a grade must be a finite number, got {grade!r}"
    )


def test_judgements_of_unknown_documents(folder: Path) -> None:
    (folder / "qrels" / "train.tsv").write_text("q1\td9\t1\nq1\td8\t0\n")
    assert complaint(folder) == "DATA: judgements name 2 unknown documents, such as 'd8'"


def test_judgements_of_unknown_queries(folder: Path) -> None:
    (folder / "qrels" / "train.tsv").write_text("q9\td1\t1\n")
    assert complaint(folder) == "DATA: judgements name 1 unknown query, such as 'q9'"


def test_no_judgement_above_zero(folder: Path) -> None:
    (folder / "qrels" / "train.tsv").write_text("q1\td1\t0\n")
    (folder / "qrels" / "test.tsv").write_text("q2\td2\t-1\n")
    assert complaint(folder) == "DATA has no judgement above 0: nothing can be measured"


@pytest.mark.parametrize(("part", "side"), [("train", "training"), ("test", "held-out")])
def test_a_side_of_the_split_without_a_judgement_above_zero(
    folder: Path, part: str, side: str
) -> None:
    query, document = ("q1", "d1") if part == "train" else ("q2", "d2")
    (folder / "qrels" / f"{part}.tsv").write_text(f"{query}\t{document}\t0\n")
    assert complaint(folder) == f"none of the {side} queries of 'shop' has a relevant document"


def test_a_held_out_query_must_not_be_trained_on(folder: Path) -> None:
    (folder / "qrels" / "test.tsv").write_text("q1\td1\t1\nq2\td2\t1\n")
    assert complaint(folder) == (
        "DATA/qrels/train.tsv line 2: query 'q1' is in the training part and in the held-out part; "
        "a held-out query must not be trained on"
    )


def test_a_query_longer_than_a_line_of_a_terminal_is_cut_in_the_complaint(folder: Path) -> None:
    (folder / "qrels" / "train.tsv").write_text("x" * 10_000)
    assert len(complaint(folder)) < 250
