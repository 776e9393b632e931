"""A retriever that does as it should, and what stalls."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rl_rewriter.retrieval.in_memory import Bm25Retriever
from tests.faults import Stall
from tests.support import DOCUMENTS


@pytest.fixture
def lexical() -> Bm25Retriever:
    return Bm25Retriever(DOCUMENTS)


@pytest.fixture
def stall() -> Iterator[Stall]:
    held = Stall()
    yield held
    held.let_go()
