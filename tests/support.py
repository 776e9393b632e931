"""What tests of several packages share: a small embedder, a small corpus, policies made by hand."""

from __future__ import annotations

import asyncio
import hashlib
import re
import threading
import uuid
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rl_rewriter.actions.blend import BLEND, LearnedBlend
from rl_rewriter.actions.blend_head import BlendHead
from rl_rewriter.actions.space import ActionSpace, default_actions
from rl_rewriter.actions.views import views_for
from rl_rewriter.features.feature_set import default_features
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.policies.mlp import Layer, MlpPolicy
from rl_rewriter.retrieval.evidence import gather
from rl_rewriter.retrieval.protocols import Retriever
from rl_rewriter.text.statistics import CollectionStatistics
from rl_rewriter.types import Evidence, Needs, Query, Rewrite, Vector

DOCUMENTS = {
    "refund": "Money is refunded to the card within five days after a return.",
    "return": "A return is free within thirty days; print the label in your account.",
    "delivery": "Delivery takes two days in the country and a week abroad.",
    "abroad": "Parcels abroad need a customs form and arrive within a week.",
    "password": "Reset the password of your account by the link in the mail.",
    "account": "Your account shows orders, invoices and the loyalty card.",
    "card": "The card is charged when the order is sent, not before.",
    "invoice": "An invoice is sent by mail and stays in your account for ten years.",
    "warranty": "The warranty covers broken parts for two years after delivery.",
    "repair": "A repair takes ten days; the warranty pays for it.",
    "voucher": "A voucher lowers the price of one order and expires after a year.",
    "size": "The size table tells which shoe fits; measure the foot in the evening.",
}
"""Document id -> text: more documents than any search of the tests asks for."""
QUERIES = (
    "could you please tell me how I get my money back on the card?",
    "how long does delivery abroad take?",
    "what is my account for?",
    "who pays for a repair?",
)
"""Questions with filler words, so that every action has something to do."""
CHINESE_DOCUMENTS = {
    "tuikuan": "退货后五天内退款到银行卡。",
    "fapiao": "发票通过邮件发送，并保存在账户中十年。",
    "baoxiu": "保修期为两年，维修费用由保修承担。",
    "kuaidi": "国内快递两天送达，国外需要一周。",
}
NASTY_TEXTS = (
    "",
    " \t\n",
    "\x00",
    "a\x00b refund",
    "\ud800 lone \udfff surrogates",
    "مرحبا \u202e بالعالم",
    "שלום עולם refund",
    "👩‍👩‍👧‍👦🏳️‍🌈 refund?",
    "e\u0301\u0327\u20dd" * 50,
    "\u200b\ufeff\u2028",
    "'; DROP TABLE documents; --",
    "{}[]()\\/^$.|?*+",
    "？！。，、",
    "吗呢吧",
    "the of and",
    "x" * 1_000_000,
    "退款" * 250_000,
    "word " * 100_000,
)
"""Texts that may not raise anywhere: control characters, lone surrogates, scripts, a megabyte."""


@dataclass(frozen=True)
class Shout:
    """An action of a user's own."""

    name: str = "shout"
    strength: float = 1.0
    needs: Needs = Needs.NOTHING

    def rewrite(self, evidence: Evidence) -> Rewrite | None:
        return Rewrite((evidence.query.text.upper(),))


class TokenEmbedder:
    """Sums one random direction a token, seeded by the token: deterministic, and never tied.

    Attributes:
        embedded: All queries embedded so far, in order.
    """

    def __init__(self, dimensions: int = 32, *, scale: float = 1.0) -> None:
        self.dimensions = dimensions
        self.scale = scale
        self.embedded: list[str] = []
        self._lock = threading.Lock()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.vector(text).tolist() for text in texts]

    def embed_query(self, text: str) -> list[float]:
        with self._lock:
            self.embedded.append(text)
        vector: list[float] = self.vector(text).tolist()
        return vector

    def __getstate__(self) -> dict[str, object]:
        return {"dimensions": self.dimensions, "scale": self.scale}

    def __setstate__(self, state: dict[str, float]) -> None:
        self.__init__(int(state["dimensions"]), scale=state["scale"])  # type: ignore[misc]

    def vector(self, text: str) -> Vector:
        total = np.zeros(self.dimensions)
        for token in re.findall(r"\w+", text.lower()) or [""]:
            seed = int.from_bytes(hashlib.blake2b(token.encode(), digest_size=8).digest(), "big")
            total += np.random.default_rng(seed).standard_normal(self.dimensions)
        return np.asarray(self.scale * total / np.linalg.norm(total), dtype=np.float32)


class Gate:
    """Holds a thread up until the event loop opens it: never, where the loop itself is held up."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self._opened = threading.Event()
        self._stood_still = False

    def wait(self) -> None:
        self.reached.set()
        if not self._opened.wait(timeout=5.0):
            self._stood_still = True
            raise AssertionError("the event loop stood still")

    async def opened(self, work: Awaitable[Any]) -> Any:
        """Run ``work``; open the gate from the loop once it is reached."""

        async def open_when_reached() -> None:
            while not self.reached.is_set():
                await asyncio.sleep(0.001)
            self._opened.set()

        opening = asyncio.create_task(open_when_reached())
        result = await work
        # A fallback may have swallowed what was raised in the thread.
        assert not self._stood_still
        assert self.reached.is_set()
        await opening
        return result


def fixed_checkpoint(
    retriever: Retriever,
    action: str,
    *,
    texts: Sequence[str] = tuple(DOCUMENTS.values()),
    actions: ActionSpace | None = None,
) -> Checkpoint:
    """A policy that takes ``action`` with probability .9, or keeps the query where it is masked.

    Args:
        retriever: What it is made for: actions and features are those that it offers.
        action: Name of the action.
        texts: Texts of the collection, for term weights.
        actions: Other actions than those.
    """
    statistics = CollectionStatistics.from_texts(texts)
    actions = actions or default_actions(retriever.offers)
    groups = default_features(retriever.offers)
    evidence = gather([Query(q) for q in QUERIES], retriever, statistics, groups.needs)
    features = groups.fitted(evidence)
    bias = np.zeros(len(actions), dtype=np.float32)
    bias[0] = 1.0
    bias[actions.index(action)] = np.log(9.0 * (len(actions) - 2 + np.e))
    weight = np.zeros((len(actions), len(features.columns)), dtype=np.float32)
    return Checkpoint(MlpPolicy((Layer(weight, bias),)), actions, features, statistics)


def blend_checkpoint(retriever: Retriever) -> Checkpoint:
    """A policy that takes a learned blend of all views, each of the same weight."""
    plain = fixed_checkpoint(retriever, "keep")
    blend = even_blend(retriever.offers, len(plain.features.columns))
    return fixed_checkpoint(retriever, BLEND, actions=plain.actions.extended([blend]))


def even_blend(offers: Needs, n_features: int) -> LearnedBlend:
    """A blend of all views that a retriever offers, each of the same weight."""
    names = tuple(view.name for view in views_for(offers))
    head = BlendHead(
        names,
        bias=np.zeros(len(names), dtype=np.float32),
        scale=np.ones(len(names), dtype=np.float32),
        mean=np.zeros(n_features, dtype=np.float32),
        spread=np.ones(n_features, dtype=np.float32),
    )
    return LearnedBlend(head)


def chroma_collection(
    documents: Mapping[str, str] = DOCUMENTS,
    embedder: TokenEmbedder | None = None,
    *,
    space: str = "cosine",
    metadatas: Sequence[Mapping[str, Any]] | None = None,
    client: Any = None,
) -> Any:
    """A Chroma collection of a name of its own; in-process where no client is given."""
    import chromadb

    store: Any = client or chromadb.EphemeralClient()
    collection = store.create_collection(
        f"test-{uuid.uuid4().hex}",
        embedding_function=None,
        configuration={"hnsw": {"space": space}},
    )
    if documents:
        add_documents(collection, documents, embedder, metadatas=metadatas)
    return collection


def add_documents(
    collection: Any,
    documents: Mapping[str, str],
    embedder: TokenEmbedder | None = None,
    *,
    metadatas: Sequence[Mapping[str, Any]] | None = None,
) -> None:
    """Add texts with the embedder's vectors."""
    collection.add(
        ids=list(documents),
        documents=list(documents.values()),
        embeddings=(embedder or TokenEmbedder()).embed_documents(list(documents.values())),
        metadatas=metadatas,
    )
