"""What holds for every test."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

import rl_rewriter.rewriter
from rl_rewriter.serving.limits import Budget

# The same examples in every run, however slow a shared machine is.
settings.register_profile("ours", deadline=None, derandomize=True)
settings.load_profile("ours")

# Threads that spin while they wait starve each other on few cores; must precede torch.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


@pytest.fixture(scope="session", autouse=True)
def cache_of_this_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Indexes and embeddings go to a folder of this run, never to the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RL_REWRITER_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def patience() -> Iterator[None]:
    """A busy machine makes no decision a "fallback:timeout": tests of limits give their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rl_rewriter.rewriter, "Budget", lambda: Budget(seconds=60.0))
        yield
