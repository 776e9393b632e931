"""Tokens and keyword forms in English and Chinese, and for texts that nobody foresaw."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rl_rewriter.text.stopwords import ENGLISH_STOP_WORDS
from rl_rewriter.text.tokens import cjk_share, index_terms, keyword_form, tokenize
from tests.support import NASTY_TEXTS


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("How do I Pay?", ["how", "do", "pay"]),
        ("snake_case and e-mail, 24 h", ["snake_case", "and", "mail", "24"]),
        ("naïve Ünïcode", ["naïve", "ünïcode"]),
        ("退款", ["退款"]),
        ("如何退款", ["如何", "何退", "退款"]),
        ("我", ["我"]),
        ("iPhone15退款", ["iphone15", "退款"]),
        ("退 款", ["退", "款"]),
        ("ひらがな", ["ひら", "らが", "がな"]),
        ("", []),
        ("? ! a", []),
    ],
)
def test_words_and_character_bigrams(text: str, tokens: list[str]) -> None:
    assert tokenize(text) == tokens


def test_index_terms_are_tokens_without_stop_words() -> None:
    assert index_terms("The delivery of a parcel 的退款") == ["delivery", "parcel", "的退", "退款"]


@pytest.mark.parametrize(
    ("text", "keywords"),
    [
        ("could you please tell me how I get my money back?", "money back"),
        ("What's the Delivery time for Berlin?", "What's Delivery time Berlin"),
        ("refund", "refund"),
        ("don't wash", "wash"),
        ("don’t wash", "wash"),
        ("(refund), [card]!", "refund card"),
        ("what is it?", "what is it?"),
        ("我想问一下如何退款？", "退款"),
        ("请问发票什么时候可以开", "发票 开"),
        ("怎么办？", "怎么办？"),
        ("国外快递多久送达，谢谢！", "国外快递 送达"),
    ],
)
def test_keyword_form(text: str, keywords: str) -> None:
    assert keyword_form(text) == keywords


@pytest.mark.parametrize(
    ("text", "share"),
    [("", 0.0), (" \n", 0.0), ("abc", 0.0), ("退款", 1.0), ("退 a", 0.5), ("退款ab?!", 1 / 3)],
)
def test_share_of_chinese(text: str, share: float) -> None:
    assert cjk_share(text) == pytest.approx(share)


@pytest.mark.parametrize("number", range(len(NASTY_TEXTS)))
def test_nasty_texts_are_handled(number: int) -> None:
    text = NASTY_TEXTS[number]
    assert all(token.strip() for token in tokenize(text))
    assert 0.0 <= cjk_share(text) <= 1.0
    assert bool(keyword_form(text)) == bool(text)


@given(st.text())
def test_what_holds_for_every_text(text: str) -> None:
    terms = index_terms(text)
    assert all(term == term.lower() and term not in ENGLISH_STOP_WORDS for term in terms)
    assert set(terms) <= set(tokenize(text))
    keywords = keyword_form(text)
    assert keywords or not text
    assert len(keywords) <= len(text)
    assert set(tokenize(keywords)) <= set(tokenize(text)) or cjk_share(text) > 0.3
