"""A text is embedded once, by whatever thread or process asks first."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from rl_rewriter.errors import InputError
from rl_rewriter.retrieval.embedding_cache import CachedEmbedder
from rl_rewriter.types import Matrix
from tests.support import NASTY_TEXTS, TokenEmbedder


class Counting:
    """Records every text it embeds; float64 on purpose."""

    def __init__(self, name: str = "counting", dimensions: int = 8) -> None:
        self.name = name
        self.seen: list[tuple[str, str]] = []
        self._tokens = TokenEmbedder(dimensions)
        self._lock = threading.Lock()

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        return self._embed("document", texts)

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        return self._embed("query", texts)

    def _embed(self, role: str, texts: Sequence[str]) -> Matrix:
        with self._lock:
            self.seen.extend((role, text) for text in texts)
        return np.asarray([self._tokens.vector(f"{role} {text}") for text in texts])


def test_each_text_once_for_each_role(tmp_path: Path) -> None:
    source = Counting()
    cached = CachedEmbedder(source, tmp_path / "deep" / "cache.sqlite")
    texts = ["b", "a", "b", "退款"]
    first = cached.embed_queries(texts)
    np.testing.assert_array_equal(first, source.embed_queries(texts))
    source.seen.clear()
    np.testing.assert_array_equal(cached.embed_queries(texts[::-1]), first[::-1])
    assert source.seen == []
    assert not np.array_equal(cached.embed_documents(texts), first)
    assert sorted(source.seen) == [("document", "a"), ("document", "b"), ("document", "退款")]
    assert cached.embed_queries([]).shape == (0, 0)


def test_another_run_finds_them_another_model_does_not(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    CachedEmbedder(Counting(), path).embed_queries(["a"])
    same, other = Counting(), Counting("other")
    CachedEmbedder(same, path).embed_queries(["a"])
    CachedEmbedder(other, path).embed_queries(["a"])
    assert (same.seen, other.seen) == ([], [("query", "a")])


def test_vectors_come_back_as_float32_whatever_was_given(tmp_path: Path) -> None:
    class Double(Counting):
        def embed_queries(self, texts: Sequence[str]) -> Matrix:
            return np.full((len(texts), 3), 0.25, dtype=np.float64)

    cached = CachedEmbedder(Double(), tmp_path / "cache.sqlite")
    for _ in range(2):
        vectors = cached.embed_queries(["a"])
        assert vectors.dtype == np.float32
        assert vectors.tolist() == [[0.25] * 3]


def test_threads_share_it(tmp_path: Path) -> None:
    source = Counting()
    cached = CachedEmbedder(source, tmp_path / "cache.sqlite")
    texts = [f"text {number}" for number in range(40)]
    expected = Counting().embed_queries(texts)
    with ThreadPoolExecutor(8) as pool:
        for vectors in pool.map(lambda _: cached.embed_queries(texts), range(16)):
            np.testing.assert_array_equal(vectors, expected)
    assert len(source.seen) == len(texts)


PROCESS = """
import sys
from pathlib import Path
import numpy as np
from rl_rewriter.retrieval.embedding_cache import CachedEmbedder
from rl_rewriter.retrieval.embedders import FunctionEmbedder
def embed(texts):
    return [[float(len(text)), float(text.split()[1])] for text in texts]
cached = CachedEmbedder(FunctionEmbedder("shared", embed, embed), Path(sys.argv[1]))
for start in range(0, 300, 10):
    texts = [f"text {number}" for number in range(start, start + 20)]
    np.testing.assert_array_equal(cached.embed_queries(texts), np.asarray(embed(texts), np.float32))
"""


def test_two_processes_share_it(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    command = [sys.executable, "-c", PROCESS, str(path)]
    processes = [subprocess.Popen(command) for _ in range(2)]
    assert [process.wait(timeout=60) for process in processes] == [0, 0]
    source = Counting("shared", 2)
    vectors = CachedEmbedder(source, path).embed_queries([f"text {n}" for n in range(310)])
    assert vectors[:, 1].tolist() == [float(n) for n in range(310)]
    assert source.seen == []


def test_progress_counts_distinct_texts(tmp_path: Path) -> None:
    done: list[int] = []
    cached = CachedEmbedder(Counting(), tmp_path / "cache.sqlite", on_progress=done.append)
    cached.embed_queries(["a", "b", "a"])
    cached.embed_queries(["a", "c"])
    assert done == [2, 1, 1]


@pytest.mark.parametrize("number", range(len(NASTY_TEXTS)))
def test_nasty_texts_are_told_apart(tmp_path: Path, number: int) -> None:
    def embed(texts: Sequence[str]) -> Matrix:
        return np.asarray([[len(text), hash(text) % 1000] for text in texts], dtype=np.float32)

    source = Counting()
    source.embed_queries = embed  # type: ignore[method-assign]
    text = NASTY_TEXTS[number]
    cached = CachedEmbedder(source, tmp_path / "cache.sqlite")
    texts = [text, text + "\x00", f"{text} "]
    np.testing.assert_array_equal(cached.embed_queries(texts), embed(texts))
    np.testing.assert_array_equal(cached.embed_queries(texts[::-1]), embed(texts[::-1]))


def test_a_file_that_is_no_cache_is_told(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(InputError, match=r"cannot be used as a cache .* delete it"):
        CachedEmbedder(Counting(), path)


def test_two_models_of_one_name_are_told(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    CachedEmbedder(Counting("same", 8), path).embed_queries(["a"])
    with pytest.raises(InputError, match="vectors of several sizes under the name 'same'"):
        CachedEmbedder(Counting("same", 4), path).embed_queries(["a", "b"])


def test_a_model_that_fails_loses_only_its_own_chunk(tmp_path: Path) -> None:
    class Failing(Counting):
        def embed_queries(self, texts: Sequence[str]) -> Matrix:
            if "bad" in texts:
                raise ConnectionError("down")
            return super().embed_queries(texts)

    source = Failing()
    cached = CachedEmbedder(source, tmp_path / "cache.sqlite")
    cached.embed_queries(["good"])
    with pytest.raises(ConnectionError):
        cached.embed_queries(["good", "bad"])
    cached.embed_queries(["good"])
    assert source.seen == [("query", "good")]
