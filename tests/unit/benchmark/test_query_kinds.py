"""Kinds that the data tell, and plain ones where they tell none."""

from __future__ import annotations

import pytest

from rl_rewriter.benchmark.query_kinds import kinds_of, plain_kind
from rl_rewriter.types import Query, Turn


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("refund", "1-3 words"),
        ("how to return", "1-3 words"),
        ("how do I return shoes", "4-8 words"),
        ("one two three four five six seven eight", "4-8 words"),
        ("one two three four five six seven eight nine", "9+ words"),
        ("怎么退款", "1-6 characters"),
        ("发票 怎么 开", "1-6 characters"),
        ("请问企业发票要填税号吗", "7-16 characters"),
        ("请问企业发票要填税号吗" * 2, "17+ characters"),
        ("PDF 发票 invoice download please", "4-8 words"),
        ("", "1-3 words"),
    ],
)
def test_bands_of_length(text: str, kind: str) -> None:
    assert plain_kind(Query(text)) == kind
    later = Query(text, history=(Turn("user", "hello"),))
    assert plain_kind(later) == f"follow-up, {kind}"


def test_the_datas_own_kinds_come_first() -> None:
    queries = [Query("refund", id="a"), Query("return", id="b")]
    assert kinds_of(queries, {"a": "vague", "b": "formal"}) == ("vague", "formal")
    assert kinds_of(queries, {"a": "vague"}) == ("vague", "")
    assert kinds_of(queries, {"elsewhere": "vague"}) == ("1-3 words", "1-3 words")
