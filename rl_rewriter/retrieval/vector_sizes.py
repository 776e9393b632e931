"""How many numbers a vector must have, by those that are known to be right."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rl_rewriter.forks import renewed_after_fork
from rl_rewriter.retrieval.per_collection import PerCollection

_MOST = 4096
"""Collections, and models, that are remembered."""


def vector_size(collection: Any) -> int | None:
    """Number of dimensions of a Chroma collection; None while it is empty, or doesn't answer.

    It is asked once: a collection never changes it.
    """
    known = _of_collections.of(collection)
    if not known:
        with suppress(Exception):  # who searches next is told what is wrong
            [vector] = collection.get(limit=1, include=["embeddings"])["embeddings"]
            known.append(len(vector))
    return known[0] if known else None


@dataclass(frozen=True)
class RightSize:
    """How many numbers a model's vectors must have, so that wrong ones aren't kept for a day.

    Attributes:
        model: What the model is known by.
        told: What the collection searched says; None where there is none, and the model's last
            vectors tell.
    """

    model: Hashable
    told: int | None = None

    @property
    def expected(self) -> int | None:
        """The right size, as far as it is known."""
        return self.told or _of_models.of(self.model)

    def may_keep(self, vectors: npt.NDArray[np.floating[Any]]) -> bool:
        """Whether vectors that the model has just made, ``(n, d)``, are right and finite."""
        size = vectors.shape[1]
        agrees = _of_models.agree(self.model, size)
        return (agrees if not self.told else size == self.told) and bool(np.isfinite(vectors).all())


class _ModelSizes:
    """The size of each model's last vectors."""

    def __init__(self) -> None:
        self._sizes: OrderedDict[Hashable, int] = OrderedDict()
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """A lock that nobody holds."""
        self._lock = threading.Lock()

    def of(self, model: Hashable) -> int | None:
        """Size of the last vectors; None where there were none."""
        with self._lock:
            return self._sizes.get(model)

    def agree(self, model: Hashable, size: int) -> bool:
        """Whether new vectors are of the last ones' size, which theirs is from now on."""
        with self._lock:
            before = self._sizes.pop(model, size)
            self._sizes[model] = size
            if len(self._sizes) > _MOST:
                self._sizes.popitem(last=False)
        return before == size


_of_models = _ModelSizes()
_of_collections: PerCollection[list[int]] = PerCollection(list, _MOST)
