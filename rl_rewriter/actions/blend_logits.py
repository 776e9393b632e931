"""Logits of a blend's weights, up to the shift that softmax ignores."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Logits = npt.NDArray[np.float64]
"""Shape ``(n, v)``: one number a query and view, -inf for views that the query doesn't have."""

SIGMAS = (1e-3, 10.0)
"""Least and greatest standard deviation with which logits are drawn."""
LEAST_WEIGHT = 1e-3
"""Weights count for no less in the centre of a draw. A blend searches no view below a hundredth, so
that smaller weights say nothing, and their logarithms would say much."""


def centred(logits: Logits, present: npt.NDArray[np.bool_]) -> Logits:
    """Logits less their mean over the present views, ``(n, v)``; -inf for the others."""
    counts = np.maximum(present.sum(axis=1, keepdims=True), 1)
    means = np.where(present, logits, 0.0).sum(axis=1, keepdims=True) / counts
    return np.where(present, logits - means, -np.inf)


def logits_of(weights: npt.NDArray[np.floating]) -> Logits:
    """Centred logits ``(n, v)`` of weights ``(n, v)``; views without weight count as absent."""
    present = weights > 0.0
    return centred(np.log(np.where(present, weights, 1.0), dtype=np.float64), present)


def weights_of(logits: Logits) -> npt.NDArray[np.float64]:
    """Softmax: weights ``(n, v)``, 0 for absent views, each row summing to 1."""
    exponents = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(exponents / exponents.sum(axis=1, keepdims=True))
