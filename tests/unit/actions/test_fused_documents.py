"""The best documents of both rankings together, by hand."""

from __future__ import annotations

import numpy as np

from rl_rewriter.actions.fused_documents import fused_vectors
from rl_rewriter.types import Evidence, Ranking
from tests.unit.actions.conftest import MakeEvidence

VECTORS = {"a": [1.0, 0.0], "b": [0.6, 0.8], "c": [0.0, 1.0], "x": [0.8, 0.6]}


def found(scores: dict[str, float], *, n_vectors: int | None = None) -> Ranking:
    ids = tuple(scores)
    vectors = [VECTORS.get(id_, [0.0, 0.0]) for id_ in ids[:n_vectors]]
    return Ranking(
        ids,
        np.asarray(list(scores.values()), dtype=np.float32),
        vectors=np.asarray(vectors, dtype=np.float32).reshape(-1, 2),
    )


def both(evidence: MakeEvidence, first: Ranking, lexical: Ranking | None) -> Evidence:
    return evidence("refund", vector=[1.0, 0.0], first=first, lexical=lexical)


def test_documents_in_the_order_of_both_scores(evidence: MakeEvidence) -> None:
    first = found({"a": 1.0, "b": 0.6, "c": 0.0})
    lexical = found({"c": 4.0, "b": 3.0})
    # Similarities 1, .6, 0 and words 0, 3, 4 of 4: a 1 + 0, b .6 + .75, c 0 + 1.
    item = both(evidence, first, lexical)
    np.testing.assert_allclose(fused_vectors(item, 2), [VECTORS["b"], VECTORS["a"]], rtol=1e-6)
    expected = [VECTORS[name] for name in "bac"]  # a and c are level: the order of their ids
    np.testing.assert_allclose(fused_vectors(item, 5), expected, rtol=1e-6)


def test_documents_of_the_words_alone_count_by_their_vectors(evidence: MakeEvidence) -> None:
    item = both(evidence, found({"a": 1.0, "c": 0.0}), found({"x": 2.0}))
    # a 1 + 0, c 0 + 0, x .8 + 1.
    np.testing.assert_allclose(fused_vectors(item, 1), [VECTORS["x"]], rtol=1e-6)


def test_a_long_ranking_of_words_tells_of_documents_beyond_its_first(
    evidence: MakeEvidence,
) -> None:
    """Only ten documents are looked at, but scores are looked up in all of the ranking."""
    others = {f"o{number}": 9.0 - 0.01 * number for number in range(10)}
    item = both(evidence, found({"a": 1.0, "b": 0.6}), found({**others, "b": 8.5, "z": 0.5}))
    # b .6 + 8/8.5 by its place beyond the ten, before o0 0 + 1 and a 1 + 0, whose words are none.
    np.testing.assert_allclose(fused_vectors(item, 1), [VECTORS["b"]], rtol=1e-6)


def test_without_a_ranking_of_words_the_similarities_decide(evidence: MakeEvidence) -> None:
    item = both(evidence, found({"c": 1.0, "a": 0.5}), None)
    np.testing.assert_array_equal(fused_vectors(item, 1), [VECTORS["a"]])
    empty = both(evidence, found({"c": 1.0, "a": 0.5}), found({}))
    np.testing.assert_array_equal(fused_vectors(empty, 1), [VECTORS["a"]])


def test_nothing_found_is_nothing(evidence: MakeEvidence) -> None:
    assert len(fused_vectors(both(evidence, found({}), found({})), 3)) == 0
    assert len(fused_vectors(evidence("refund", vector=[1.0, 0.0]), 3)) == 0
    assert len(fused_vectors(evidence("refund", first=found({"a": 1.0})), 3)) == 0
