"""Can one object ever be taken for another?"""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor

from rl_rewriter.caching.identity import _known, identity_of


class Model:
    """Equal to all others, and unhashable, as settings objects are."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model)

    __hash__ = None  # type: ignore[assignment]  # that is how Python says it


def test_the_same_object_has_one_mark_and_equal_ones_have_two() -> None:
    one, other = Model(), Model()
    assert identity_of(one) is identity_of(one)
    assert identity_of(one) is not None
    assert identity_of(one) is not identity_of(other)


def test_no_later_object_inherits_a_mark_even_at_the_same_address() -> None:
    marks, addresses = [], set()
    for _ in range(200):
        model = Model()
        addresses.add(id(model))
        marks.append(identity_of(model))
        del model
    assert len(addresses) < 200  # addresses are used again
    assert len(set(map(id, marks))) == 200


def test_a_mark_keeps_nothing_alive() -> None:
    gc.collect()
    before = len(_known)
    models = [Model() for _ in range(50)]
    assert all(identity_of(model) is not None for model in models)
    assert len(_known) == before + 50
    del models
    gc.collect()
    assert len(_known) == before


def test_what_cannot_be_watched_has_none() -> None:
    assert identity_of(7) is None
    assert identity_of("text") is None


def test_many_threads_see_one_mark() -> None:
    for _ in range(50):
        model = Model()
        with ThreadPoolExecutor(8) as pool:
            marks = set(map(id, pool.map(identity_of, [model] * 16)))
        assert len(marks) == 1
