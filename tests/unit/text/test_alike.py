"""Which words are spelt alike, by hand and against a plain count of shared n-grams."""

from __future__ import annotations

import pickle
import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

from rl_rewriter.text import alike
from rl_rewriter.text.alike import GRAM, LEAST, Vocabulary, ask_alike, asks_alike
from rl_rewriter.text.tokens import index_terms

WORDS = st.text(alphabet="abcé退款", min_size=1, max_size=9)


def grams(word: str) -> set[str]:
    whole = f" {word} "
    found = {whole[at : at + GRAM] for at in range(len(whole)) if len(whole) >= at + GRAM}
    return found or {whole}


def test_endings_are_alike_and_other_words_are_not() -> None:
    words = Vocabulary(["refund", "refunds", "refunded", "refuse", "found", "week", "weekly"])
    assert list(words.alike_to("refund")) == ["refund", "refunds", "refunded"]
    assert set(words.alike_to("weekly")) == {"week", "weekly"}
    assert words.alike_to("card") == {}
    assert len(words) == 7


def test_a_misspelt_word_finds_the_right_one() -> None:
    words = Vocabulary(["reimbursement", "embarrassment", "cancellation", "installation"])
    assert list(words.alike_to("reimbursment")) == ["reimbursement"]
    assert list(words.alike_to("cancelation")) == ["cancellation"]


def test_chinese_bigrams_are_alike_to_themselves_alone() -> None:
    words = Vocabulary(["退款", "退货", "款项", "退"])
    for word in ("退款", "退货", "退"):
        assert words.alike_to(word) == {word: 1.0}
    assert words.alike_to("货款") == {}


@given(st.sets(WORDS, min_size=1, max_size=8), WORDS)
@example({"a", "ab"}, "a")
def test_likeness_is_dices_coefficient_of_the_n_grams(vocabulary: set[str], word: str) -> None:
    found = Vocabulary(sorted(vocabulary)).alike_to(word)
    expected = {
        other: 2 * len(grams(word) & grams(other)) / (len(grams(word)) + len(grams(other)))
        for other in vocabulary
    }
    assert found == {other: like for other, like in expected.items() if like >= LEAST}
    assert word not in vocabulary or found[word] == 1.0
    assert list(found) == sorted(found, key=lambda other: (-found[other], other))


@given(st.permutations(["refund", "refunds", "refunded", "rerefund"]))
def test_the_order_of_words_tells_nothing(words: list[str]) -> None:
    found = Vocabulary(words).alike_to("refunds")
    assert list(found.items()) == list(Vocabulary(sorted(words)).alike_to("refunds").items())


def test_what_is_remembered_is_bounded_and_long_words_are_not() -> None:
    words = Vocabulary(["refund"])
    for number in range(alike._REMEMBERED + 5):
        words.alike_to(f"refund{number}")
    assert len(words._found) == 5
    words.alike_to("refund" * 20)
    assert len(words._found) == 5


def test_it_can_be_pickled_after_it_was_asked() -> None:
    words = Vocabulary(["refund", "refunds"])
    expected = words.alike_to("refund")
    assert pickle.loads(pickle.dumps(words)).alike_to("refund") == expected


def test_no_words_are_no_obstacle() -> None:
    assert Vocabulary([]).alike_to("refund") == {}
    assert Vocabulary(["refund"]).alike_to("") == {}


@given(st.text(max_size=20))
def test_asking_changes_no_word_of_a_text(text: str) -> None:
    assert index_terms(ask_alike(text)) == index_terms(text)
    assert asks_alike(ask_alike(text)) is bool(text)


def test_the_mark_is_no_part_of_a_word_to_others() -> None:
    assert ask_alike("refund card").split()[1:] == ["refund", "card"]
    assert unicodedata.category(ask_alike("refund")[0]) == "Cn"  # which no text should hold
