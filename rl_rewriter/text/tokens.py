"""Tokens for term statistics and BM25: words of two characters or more, CJK as bigrams."""

from __future__ import annotations

import re

from rl_rewriter.text.stopwords import (
    CHINESE_NON_KEYWORDS,
    ENGLISH_NON_KEYWORDS,
    ENGLISH_STOP_WORDS,
)

_CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff"
_RUNS = re.compile(rf"[{_CJK}]+|[^\W{_CJK}]+")
_CJK_CHARACTER = re.compile(rf"[{_CJK}]")
_CHINESE_NON_KEYWORDS = re.compile("|".join(sorted(CHINESE_NON_KEYWORDS, key=len, reverse=True)))
_WORD = re.compile(r"[^\s]+")
_EDGE_PUNCTUATION = "?!.,;:\"'()[]{}…。，？！；：、“”‘’（）《》【】"


def tokenize(text: str) -> list[str]:
    """Split into lower-case words and CJK character bigrams, stop words included.

    Words of a single character are left out, as in the usual BM25 set-ups; a lone CJK character
    stands for itself. Bigrams are a strong baseline for Chinese and need no dictionary.
    """
    tokens: list[str] = []
    for run in _RUNS.findall(text.lower()):
        if not run.isascii() and _CJK_CHARACTER.match(run):
            tokens.extend([run] if len(run) == 1 else [run[i : i + 2] for i in range(len(run) - 1)])
        elif len(run) > 1:
            tokens.append(run)
    return tokens


def index_terms(text: str) -> list[str]:
    """Tokens without English stop words: what BM25 indexes and searches."""
    return [token for token in tokenize(text) if token not in ENGLISH_STOP_WORDS]


def cjk_share(text: str) -> float:
    """Share of CJK characters among all that aren't white space, 0 for blank text."""
    if text.isascii():
        return 0.0
    dense = "".join(text.split())
    return len(_CJK_CHARACTER.findall(dense)) / len(dense) if dense else 0.0


def keyword_form(text: str) -> str:
    """The query without stop words, question words and politeness; itself if nothing stays.

    English words keep their spelling and order; in Chinese the same is done by phrase, since
    words aren't separated there.
    """
    if cjk_share(text) > 0.3:
        kept = _CHINESE_NON_KEYWORDS.sub(" ", text)
        words = [word.strip(_EDGE_PUNCTUATION) for word in kept.split()]
    else:
        words = [
            stripped
            for word in _WORD.findall(text)
            if (stripped := word.strip(_EDGE_PUNCTUATION))
            and stripped.lower().replace("'", "").replace("\u2019", "") not in ENGLISH_NON_KEYWORDS
        ]
    return " ".join(word for word in words if word) or text
