"""Which words are spelt alike, by hand and against a plain count of shared n-grams."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from rl_rewriter.text.alike import GRAM, LEAST, MOST, Vocabulary, ask_alike, asks_alike
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
    assert list(found.values()) == sorted(found.values(), reverse=True)


def test_a_word_is_alike_to_so_many_at_most() -> None:
    words = [
        f"unforgettable{chr(97 + first)}{chr(97 + last)}" for first in range(9) for last in range(9)
    ]
    found = Vocabulary(words).alike_to(words[40])
    assert len(found) == MOST < len(words)
    assert found[words[40]] == 1.0


def test_no_words_are_no_obstacle() -> None:
    assert Vocabulary([]).alike_to("refund") == {}
    assert Vocabulary(["refund"]).alike_to("") == {}


@given(st.text(max_size=20))
def test_asking_changes_no_word_of_a_text(text: str) -> None:
    assert index_terms(ask_alike(text)) == index_terms(text)
    assert asks_alike(ask_alike(text)) is bool(text)
