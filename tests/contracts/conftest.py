"""Evidence from a real collection, for everything that looks at evidence."""

from __future__ import annotations

import pytest

from rl_rewriter.retrieval.evidence import gather
from rl_rewriter.retrieval.over_chroma import chroma_retriever
from rl_rewriter.text.statistics import CollectionStatistics, Topic
from rl_rewriter.types import Evidence, Needs, Query, Turn
from tests.support import CHINESE_DOCUMENTS, DOCUMENTS, TokenEmbedder, chroma_collection

HISTORY = (
    Turn("user", "how long does delivery abroad take?"),
    Turn("assistant", "a week"),
    Turn("user", "退货呢"),
)
CASES = tuple(
    Query(text, history)
    for text in (
        "could you please tell me how I get my money back on the card?",
        "请问如何退款？",
        "refund",
        "?!",
        "the of",
        "\x00 \ud800 \u202e refund",
        "and " * 2_000,
    )
    for history in ((), HISTORY)
)


@pytest.fixture(scope="session")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> list[Evidence]:
    documents = {**DOCUMENTS, **CHINESE_DOCUMENTS}
    retriever = chroma_retriever(
        chroma_collection(documents),
        TokenEmbedder(),
        cache_dir=tmp_path_factory.mktemp("indexes"),
    )
    topics = (Topic("money", {"card": 1.0, "refund": 0.5}), Topic("退款", {"如何": 1.0}))
    statistics = CollectionStatistics.from_texts(documents.values(), topics)
    return gather(CASES, retriever, statistics, ~Needs.NOTHING)
