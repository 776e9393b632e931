"""What the benchmarks share: generated texts, a hashing embedder, policies made by hand, clocks."""

from __future__ import annotations

import json
import re
import statistics
import time
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import rl_rewriter
from rl_rewriter.actions.blend import BLEND, LearnedBlend
from rl_rewriter.actions.blend_head import BlendHead, TanhNetwork
from rl_rewriter.actions.space import ActionSpace, default_actions
from rl_rewriter.actions.views import views_for
from rl_rewriter.features.feature_set import default_features
from rl_rewriter.policies.checkpoint import Checkpoint
from rl_rewriter.policies.mlp import Layer, MlpPolicy
from rl_rewriter.retrieval.evidence import gather
from rl_rewriter.retrieval.protocols import Retriever
from rl_rewriter.training.fit import collection_statistics
from rl_rewriter.types import Matrix, Query

N_DOCUMENTS = 10_000
HIDDEN = 64
N_NETWORKS, N_UNITS = 3, 16
"""Of a blend made by hand."""
HISTORY = (
    ("user", "which card does the voucher belong to, and how long is it valid?"),
    ("assistant", "A voucher belongs to the card that it was bought with and is valid for a year."),
)
_CORPUS = Path(rl_rewriter.__file__).parent / "demo" / "corpus" / "en" / "corpus.jsonl"
_ADD_CHUNK = 2000
_PREFIXES = ("how do I", "could you please tell me about", "what is", "", "why does the")


class Writer:
    """Writes sentences of words drawn from the bundled corpus, each as often as it stands there.

    Args:
        seed: Equal seeds write equal texts.
    """

    def __init__(self, seed: int = 0) -> None:
        entries = [json.loads(line) for line in _CORPUS.read_text("utf-8").splitlines()]
        self._words = re.findall(r"[a-z]{2,}", " ".join(e["text"] for e in entries).lower())
        self._rng = np.random.default_rng(seed)

    def documents(self, n: int = N_DOCUMENTS, words: int = 14) -> dict[str, str]:
        """Document id -> text."""
        return {f"d{row}": f"{self._sentence(words)}." for row in range(n)}

    def queries(self, n: int, words: int = 5) -> list[str]:
        """Distinct questions, some with filler words."""
        texts: dict[str, None] = {}
        while len(texts) < n:
            prefix = _PREFIXES[len(texts) % len(_PREFIXES)]
            texts[f"{prefix} {self._sentence(words)}?".strip()] = None
        return list(texts)

    def _sentence(self, words: int) -> str:
        length = int(self._rng.integers(words - 2, words + 3))
        return " ".join(
            self._words[row] for row in self._rng.integers(len(self._words), size=length)
        )


class HashedWords:
    """Counts of words in 256 buckets: vectors without a model."""

    name = "hashed words"

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Embeddings, ``(n, 256)`` float32."""
        vectors = np.zeros((len(texts), 256), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split():
                vectors[row, zlib.crc32(word.strip(".,?").encode()) % 256] += 1.0
        return vectors

    embed_queries = embed_documents


def fill_collection(client: Any, documents: Mapping[str, str], vectors: Matrix) -> Any:
    """A new Chroma collection in cosine space, of a name of its own."""
    collection = client.create_collection(
        f"benchmark-{uuid.uuid4().hex}",
        embedding_function=None,
        configuration={"hnsw": {"space": "cosine"}},
    )
    ids, texts = list(documents), list(documents.values())
    for start in range(0, len(ids), _ADD_CHUNK):
        part = slice(start, start + _ADD_CHUNK)
        collection.add(ids=ids[part], documents=texts[part], embeddings=vectors[part])
    return collection


def settled_checkpoints(
    retriever: Retriever, names: Iterable[str], actions: ActionSpace | None = None
) -> dict[str, Checkpoint]:
    """Policies with random weights whose output bias settles the choice, by action.

    They have 64 hidden units and the default features of the retriever.

    Args:
        retriever: What they are made for.
        names: Actions; each is taken by its policy wherever it is possible.
        actions: What they choose from; the default actions of the retriever where None.
    """
    rng = np.random.default_rng(0)
    actions = actions or default_actions(retriever.offers)
    groups = default_features(retriever.offers)
    terms = collection_statistics(retriever)
    queries = [Query(text) for text in Writer(1).queries(50)]
    features = groups.fitted(gather(queries, retriever, terms, groups.needs))
    first = Layer(_normal(rng, HIDDEN, len(features.columns)), _normal(rng, HIDDEN))
    weight = _normal(rng, len(actions), HIDDEN)
    checkpoints = {}
    for name in names:
        bias = np.zeros(len(actions), dtype=np.float32)
        bias[actions.index(name)] = 1000.0
        policy = MlpPolicy((first, Layer(weight, bias)))
        checkpoints[name] = Checkpoint(policy, actions, features, terms)
    return checkpoints


def blend_checkpoint(retriever: Retriever) -> Checkpoint:
    """A policy that always blends all views of the retriever, by networks with random weights."""
    rng = np.random.default_rng(3)
    n_features = len(default_features(retriever.offers).columns)
    names = tuple(view.name for view in views_for(retriever.offers))
    networks = tuple(
        TanhNetwork(
            _normal(rng, N_UNITS, n_features),
            _normal(rng, N_UNITS),
            _normal(rng, len(names), N_UNITS),
        )
        for _ in range(N_NETWORKS)
    )
    head = BlendHead(
        names,
        bias=np.zeros(len(names), dtype=np.float32),
        scale=np.ones(len(names), dtype=np.float32),
        mean=np.zeros(n_features, dtype=np.float32),
        spread=np.ones(n_features, dtype=np.float32),
        networks=networks,
    )
    actions = default_actions(retriever.offers).extended([LearnedBlend(head)])
    return settled_checkpoints(retriever, [BLEND], actions)[BLEND]


def _normal(rng: np.random.Generator, *shape: int) -> Matrix:
    return (0.1 * rng.standard_normal(shape)).astype(np.float32)


class Stopwatch:
    """Adds up time by stage; a stage inside another one counts for itself alone.

    Attributes:
        seconds: Stage -> seconds so far.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._inner = [0.0]

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a block."""
        started = time.perf_counter()
        self._inner.append(0.0)
        try:
            yield
        finally:
            elapsed = time.perf_counter() - started
            own = elapsed - self._inner.pop()
            self._inner[-1] += elapsed
            self.seconds[name] = self.seconds.get(name, 0.0) + own

    def watch(self, target: Any, method: str, name: str) -> None:
        """Time all calls of one object's method from now on."""
        original: Callable[..., Any] = getattr(target, method)

        def timed(*args: Any, **kwargs: Any) -> Any:
            with self.stage(name):
                return original(*args, **kwargs)

        setattr(target, method, timed)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows under their column names."""
    cells = [[str(cell) for cell in row] for row in (columns, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        first, *others = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        print("  ".join((first, *(cell.strip().rjust(len(cell)) for cell in others))))


def percentiles(values: Sequence[float]) -> tuple[float, float]:
    """Median and 95th percentile."""
    return statistics.median(values), float(np.percentile(values, 95))
