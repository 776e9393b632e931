"""Features of the query's words alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rl_rewriter.text.stopwords import (
    CHINESE_PRONOUNS,
    CHINESE_QUESTION_MARKS,
    ENGLISH_FILLER,
    ENGLISH_PRONOUNS,
    ENGLISH_QUESTION_WORDS,
    ENGLISH_STOP_WORDS,
)
from rl_rewriter.text.tokens import cjk_share, tokenize
from rl_rewriter.types import Evidence, Matrix, Needs


@dataclass(frozen=True)
class QueryText:
    """Lengths, kinds of words, term weights and form of the query (pre-retrieval predictors)."""

    columns: tuple[str, ...] = (
        "log_characters",
        "log_tokens",
        "stop_word_share",
        "filler_share",
        "unknown_share",
        "mean_idf",
        "max_idf",
        "min_idf",
        "std_idf",
        "pronoun_share",
        "is_question",
        "n_sentences",
        "digit_share",
        "cjk_share",
    )
    needs: Needs = Needs.NOTHING

    def extract(self, evidence: Sequence[Evidence]) -> Matrix:
        """One row a query, shape ``(n, 14)``."""
        return np.asarray([_describe(item) for item in evidence], dtype=np.float32).reshape(
            len(evidence), len(self.columns)
        )


def _describe(evidence: Evidence) -> list[float]:
    text = evidence.query.text
    tokens = tokenize(text)
    n_tokens = max(1, len(tokens))
    content = [token for token in tokens if token not in ENGLISH_STOP_WORDS]
    statistics = evidence.statistics
    idf = [statistics.idf(token) for token in content] or [0.0]
    mean = sum(idf) / len(idf)
    spread = math.sqrt(sum((value - mean) ** 2 for value in idf) / len(idf))
    cjk = cjk_share(text)
    words = text.lower().split()
    pronouns = sum(word.strip("?.,!") in ENGLISH_PRONOUNS for word in words) + sum(
        text.count(word) for word in CHINESE_PRONOUNS if cjk
    )
    return [
        math.log1p(len(text)),
        math.log1p(len(tokens)),
        1.0 - len(content) / n_tokens,
        sum(token in ENGLISH_FILLER for token in tokens) / n_tokens,
        sum(not statistics.knows(token) for token in content) / n_tokens,
        mean,
        max(idf),
        min(idf),
        spread,
        pronouns / max(1, len(words)),
        float(_is_question(text, words, cjk)),
        math.log1p(sum(text.count(mark) for mark in ".!?。！？")),
        sum(map(str.isdigit, text)) / max(1, len(text)),
        cjk,
    ]


def _is_question(text: str, words: list[str], cjk: float) -> bool:
    if text.rstrip().endswith(("?", "？")) or (words and words[0] in ENGLISH_QUESTION_WORDS):
        return True
    return cjk > 0 and any(mark in text for mark in CHINESE_QUESTION_MARKS)
