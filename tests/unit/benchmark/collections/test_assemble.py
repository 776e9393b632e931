"""The checks that every format goes through, and what is said about odd but usable collections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rl_rewriter.benchmark.collections.assemble import assemble
from rl_rewriter.benchmark.collections.files import Place
from rl_rewriter.benchmark.collections.judged import JudgedCollection
from rl_rewriter.benchmark.collections.parts import DocumentRow, Judgement, Parts, QueryRow
from rl_rewriter.errors import InputError
from rl_rewriter.training.splits import query_fingerprint
from rl_rewriter.types import Turn

TRAIN, TEST = False, True


def place(number: int) -> Place:
    return Place(Path("file"), number)


def parts(
    documents: dict[str, str] | None,
    queries: dict[str, str] | Iterable[QueryRow],
    judgements: Iterable[tuple[str, str, float, bool]],
    *,
    has_unnamed: bool = False,
) -> Parts:
    rows = (
        [QueryRow(id_, text, place(n)) for n, (id_, text) in enumerate(queries.items(), 1)]
        if isinstance(queries, dict)
        else queries
    )
    return Parts(
        name="made",
        source=Path("DATA"),
        documents=None
        if documents is None
        else [DocumentRow(id_, text, place(n)) for n, (id_, text) in enumerate(documents.items())],
        queries=rows,
        judgements=[Judgement(*row[:3], place(n), row[3]) for n, row in enumerate(judgements, 1)],
        has_unnamed=has_unnamed,
    )


def made(*arguments: object, elsewhere: bool = False) -> JudgedCollection:
    return assemble(parts(*arguments), documents_elsewhere=elsewhere)  # type: ignore[arg-type]


def test_what_is_odd_but_usable_is_noted() -> None:
    found = made(
        {"d1": "a", "d2": "b", "d3": "a"},
        {"q1": "one", "q2": "two", "q3": "three", "q4": "four", "q5": "One "},
        [
            ("q1", "d1", 1.0, TRAIN),
            ("q2", "d2", 1.0, TRAIN),
            ("q2", "d2", 1.0, TRAIN),
            ("q4", "d2", 0.0, TRAIN),
            ("q5", "d3", 2.0, TRAIN),
        ],
    )
    assert [query.id for query in found.queries] == ["q1", "q2", "q5"]
    assert found.notes == (
        "1 query without judgements left out, such as 'q3'",
        "1 query left out because no document is judged relevant, such as 'q4'",
        "1 query with the words of another, such as 'q5' and 'q1'",
        "1 document with the words of another, such as 'd3' and 'd1'",
        "1 judgement given twice, such as that of 'd2' for 'q2'",
    )


def test_nothing_is_noted_where_nothing_is_odd() -> None:
    assert made({"d": "a"}, {"q": "one"}, [("q", "d", 1.0, TRAIN)]).notes == ()


def test_a_training_query_with_the_words_of_a_held_out_one_is_left_out() -> None:
    found = made(
        {"d1": "a"},
        {"q1": "Money back? ", "q2": "money back?", "q3": "else", "q4": "MONEY BACK?"},
        [
            ("q1", "d1", 1.0, TRAIN),
            ("q2", "d1", 1.0, TEST),
            ("q3", "d1", 1.0, TRAIN),
            ("q4", "d1", 1.0, TRAIN),
        ],
    )
    assert [query.id for query in found.train] == ["q3"]
    assert [query.id for query in found.test] == ["q2"]
    assert found.notes[0] == (
        "2 training queries left out because a held-out query has the same words, such as 'q1' and "
        "'q2'"
    )


def test_the_same_words_after_other_turns_are_another_query() -> None:
    history = (Turn("user", "about returns"),)
    found = made(
        {"d1": "a"},
        [
            QueryRow("q1", "who pays?", place(1), history=history),
            QueryRow("q2", "who pays?", place(2)),
        ],
        [("q1", "d1", 1.0, TRAIN), ("q2", "d1", 1.0, TEST)],
    )
    assert len(found.train) == len(found.test) == 1
    assert found.notes == ()


def test_nothing_is_left_to_train_on() -> None:
    with pytest.raises(InputError, match="nothing is left to train on, since every training query"):
        made(
            {"d1": "a"}, {"q1": "a", "q2": "a"}, [("q1", "d1", 1.0, TRAIN), ("q2", "d1", 1.0, TEST)]
        )


def test_a_split_through_a_conversation_or_a_need_is_noted() -> None:
    turns = (Turn("user", "about returns"),)
    found = made(
        {"d1": "a"},
        [
            QueryRow("q1", "who pays?", place(1), history=turns),
            QueryRow("q2", "and when?", place(2), history=turns),
            QueryRow("q3", "size", place(3), group="shoes"),
            QueryRow("q4", "which size", place(4), group="shoes"),
            QueryRow("q5", "else", place(5), group="else"),
        ],
        [
            ("q1", "d1", 1.0, TRAIN),
            ("q2", "d1", 1.0, TEST),
            ("q3", "d1", 1.0, TRAIN),
            ("q4", "d1", 1.0, TEST),
            ("q5", "d1", 1.0, TEST),
        ],
    )
    assert found.notes == (
        "2 held-out queries of a conversation or a need that is trained on too, such as 'q2'",
    )


def test_groups_that_share_a_query_are_one_where_the_split_is_ours() -> None:
    rows = [
        QueryRow("q1", "same", place(1), group="a"),
        QueryRow("q2", "Same", place(2), group="b"),
        QueryRow("q3", "more", place(3), group="b"),
        QueryRow("q4", "else", place(4), group="c"),
    ]
    found = made({"d": "a"}, rows, [(f"q{n}", "d", 1.0, TRAIN) for n in (1, 2, 3, 4)])
    assert {q.id: found.group_of(q) for q in found.queries} == {
        "q1": "a",
        "q2": "a",
        "q3": "a",
        "q4": "c",
    }


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("uvwxyz")), min_size=2))
def test_no_words_are_on_both_sides_of_our_split(asked: list[tuple[str, str]]) -> None:
    rows = [QueryRow(f"q{n}", text, place(n), group=g) for n, (text, g) in enumerate(asked)]
    found = made({"d": "a"}, rows, [(row.id, "d", 1.0, TRAIN) for row in rows])
    if len({found.group_of(query) for query in found.queries}) > 1:
        sides = [{query_fingerprint(query) for query in side} for side in (found.train, found.test)]
        assert not sides[0] & sides[1]


@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "A ", "b", "c", "d"]), st.booleans(), st.booleans()),
        min_size=1,
    )
)
def test_no_words_are_on_both_sides_of_a_given_split(asked: list[tuple[str, bool, bool]]) -> None:
    queries = {f"q{n}": text for n, (text, _, _) in enumerate(asked)}
    rows = [(f"q{n}", "d", float(good), side) for n, (_, good, side) in enumerate(asked)]
    try:
        found = made({"d": "a"}, queries, rows)
    except InputError:
        return
    if found.protocol == "split":
        sides = [{query_fingerprint(query) for query in side} for side in (found.train, found.test)]
        assert not sides[0] & sides[1]
        assert len(found.test) == sum(good and side for _, good, side in asked)


def test_documents_of_ones_own_store_are_neither_read_nor_checked() -> None:
    def unread() -> Iterator[DocumentRow]:
        raise AssertionError("read")
        yield

    taken = parts(None, {"q1": "a"}, [("q1", "anything", 1.0, TRAIN)])
    found = assemble(
        Parts(
            name="made",
            source=Path("DATA"),
            documents=unread(),
            queries=taken.queries,
            judgements=taken.judgements,
        ),
        documents_elsewhere=True,
    )
    assert found.documents == {}
    assert found.qrels == {"q1": {"anything": 1.0}}


def test_texts_cannot_be_looked_up_in_ones_own_store() -> None:
    taken = parts({"d": "a"}, {"q": "a"}, [("q", "d", 1.0, TRAIN)], has_unnamed=True)
    assert assemble(taken).documents == {"d": "a"}
    with pytest.raises(InputError, match="by their text, which cannot be looked up in your own"):
        assemble(taken, documents_elsewhere=True)


ONE = [("q1", "d1", 1.0, TRAIN)]
TWO_GRADES = [*ONE, ("q1", "d1", 2.0, TRAIN)]
TWO_SIDES = [*ONE, ("q1", "d2", 1.0, TEST)]
DOUBLED = [QueryRow("q1", "a", place(1)), QueryRow("q1", "a", place(7))]


@pytest.mark.parametrize(
    ("documents", "queries", "judgements", "complaint"),
    [
        (
            None,
            {"q1": "a"},
            ONE,
            "DATA comes without documents: put them beside it as corpus.jsonl",
        ),
        ({}, {"q1": "a"}, ONE, "DATA has no documents"),
        ({"d1": " "}, {"q1": "a"}, ONE, "file: document 'd1' has no text"),
        ({"d1": "a"}, {"q1": "\n"}, ONE, "file line 1: query 'q1' has no text"),
        ({"d1": "a"}, DOUBLED, ONE, "file line 7: the id 'q1' stands twice"),
        ({"d2": "a"}, {"q1": "a"}, ONE, "DATA: judgements name 1 unknown document, such as 'd1'"),
        ({"d1": "a"}, {"q2": "a"}, ONE, "DATA: judgements name 1 unknown query, such as 'q1'"),
        (
            {"d1": "a"},
            {"q1": "a"},
            TWO_GRADES,
            "file line 2: document 'd1' is judged 2 for query 'q1', and 1 before",
        ),
        (
            {"d1": "a", "d2": "b"},
            {"q1": "a"},
            TWO_SIDES,
            "file line 2: query 'q1' is in the training part and in the held-out part",
        ),
        (
            {"d1": "a"},
            {"q1": "a"},
            [("q1", "d1", 0.0, TRAIN)],
            "DATA has no judgement above 0: nothing can be measured",
        ),
    ],
)
def test_what_cannot_be_used_is_refused(
    documents: object, queries: object, judgements: object, complaint: str
) -> None:
    with pytest.raises(InputError) as caught:
        made(documents, queries, judgements)
    assert str(caught.value).startswith(complaint)


def test_a_long_id_is_cut_in_the_complaint() -> None:
    with pytest.raises(InputError) as caught:
        made({"d": "a"}, {"q": "a"}, [("q", "x\n" * 5000, 1.0, TRAIN)])
    assert len(str(caught.value)) < 200
    assert "\n" not in str(caught.value)
