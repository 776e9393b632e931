"""Looks whether what retrievers, policies and actions gave can be used at all."""

from __future__ import annotations

from typing import Any

import numpy as np

from rl_rewriter.policies.protocols import Mask
from rl_rewriter.types import Evidence, Needs, Ranking, Rewrite

_TOLERANCE = 1e-6
_FIRST = Needs.FIRST_RANKING | Needs.FIRST_TEXTS | Needs.FIRST_VECTORS
_LEXICAL = Needs.LEXICAL | Needs.LEXICAL_VECTORS


class RubbishError(ValueError):
    """Something of a wrong kind or shape, or numbers that are none; the text says what."""


def check_ranking(ranking: Any, what: str) -> None:
    """Refuse what is no ranking, and scores or vectors that aren't finite numbers.

    Raises:
        RubbishError: It can't be used.
    """
    if not isinstance(ranking, Ranking):
        raise RubbishError(f"{what} is a {type(ranking).__name__}")
    n = len(ranking.ids)
    columns = (ranking.texts, ranking.metadatas)
    if any(column is not None and len(column) != n for column in columns):
        raise RubbishError(f"{what} has columns of several lengths")
    if np.shape(ranking.scores) != (n,) or not _is_finite(ranking.scores):
        raise RubbishError(f"{what} has scores that are no {n} finite numbers")
    vectors = ranking.vectors
    if vectors is not None and (np.ndim(vectors) != 2 or not _is_finite(vectors)):
        raise RubbishError(f"{what} has vectors that aren't finite numbers")


def check_evidence(evidence: Evidence) -> None:
    """Refuse an embedding or a ranking that can't be used.

    Raises:
        RubbishError: One can't.
    """
    vector = evidence.vector
    if vector is not None and (
        np.ndim(vector) != 1 or not np.size(vector) or not _is_finite(vector)
    ):
        raise RubbishError("the query's embedding is no vector of finite numbers")
    if evidence.first is not None or evidence.gathered & _FIRST:
        check_ranking(evidence.first, "the first ranking")
    if evidence.lexical is not None or evidence.gathered & _LEXICAL:
        check_ranking(evidence.lexical, "the BM25 ranking")


def usable(evidence: Evidence | None) -> Evidence | None:
    """Evidence that can be used; None for any other, since a kept query is served from it."""
    try:
        if evidence is not None:
            check_evidence(evidence)
    except RubbishError:
        return None
    return evidence


def check_state(raw: Any, n_columns: int) -> None:
    """Refuse features of another shape, or that aren't finite.

    Raises:
        RubbishError: They are.
    """
    if np.shape(raw) != (1, n_columns) or not _is_finite(raw):
        raise RubbishError(f"the features are no {n_columns} finite numbers")


def check_probabilities(probabilities: Any, mask: Mask) -> None:
    """Refuse what is no distribution over the possible actions.

    Raises:
        RubbishError: It isn't.
    """
    if np.shape(probabilities) != mask.shape or not _is_finite(probabilities):
        raise RubbishError("the action probabilities are not finite, or not one an action")
    if (probabilities < 0).any() or abs(probabilities.sum() - 1.0) > _TOLERANCE:
        raise RubbishError("the action probabilities are no distribution")
    if probabilities[~mask].any():
        raise RubbishError("the policy gives masked actions a probability")


def check_choice(action: int, mask: Mask) -> None:
    """Refuse an action that isn't there, or can't be carried out.

    Raises:
        RubbishError: It is such a one.
    """
    if not 0 <= action < mask.shape[1] or not mask[0, action]:
        raise RubbishError(f"the policy chose action {action}, which isn't possible")


def check_rewrite(rewrite: Any) -> None:
    """Refuse what is no rewrite, blank texts, and vectors that aren't finite.

    Raises:
        RubbishError: It can't be searched.
    """
    if not isinstance(rewrite, Rewrite):
        raise RubbishError(f"the action made a {type(rewrite).__name__}, no rewrite")
    if not all(isinstance(text, str) for text in rewrite.texts) or not rewrite.text.strip():
        raise RubbishError("the action made a rewrite without a text")
    vector = rewrite.vector
    if vector is not None and (
        not isinstance(vector, np.ndarray) or vector.ndim != 1 or not _is_finite(vector)
    ):
        raise RubbishError("the rewritten vector is not finite, or no vector")


def _is_finite(values: Any) -> bool:
    array = np.asarray(values)
    return array.dtype.kind in "fiu" and bool(np.isfinite(array).all())
