"""LangChain's own suite for retrievers, over Chroma and over a retriever that only takes text."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests import RetrieversIntegrationTests

from rl_rewriter import RLQueryRewriter
from rl_rewriter.integrations.langchain import RewritingRetriever
from tests.integration.langchain.parts import Trained
from tests.support import QUERIES


class _Suite(RetrieversIntegrationTests):
    params: dict[str, Any]

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        constructor: type[BaseRetriever] = RewritingRetriever
        return constructor

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return self.params

    @property
    def retriever_query_example(self) -> str:
        return QUERIES[0]


class TestUntrained(_Suite):
    @pytest.fixture(autouse=True)
    def _params(self, store: Any) -> None:
        self.params = {"rewriter": RLQueryRewriter(), "base_retriever": store.as_retriever()}


@pytest.mark.parametrize("action", ["keep", "keywords@0.5", "move_bm25_3@0.4", "fuse_bm25@0.4"])
class TestTrained(_Suite):
    @pytest.fixture(autouse=True)
    def _params(self, store: Any, trained: Trained, action: str) -> None:
        self.params = {"rewriter": trained(action), "base_retriever": store.as_retriever()}


class TestBoundText(_Suite):
    @pytest.fixture(autouse=True)
    def _params(self, store: Any, trained_on_text: Trained) -> None:
        base = store.as_retriever().with_retry()
        self.params = {"rewriter": trained_on_text(), "base_retriever": base}
