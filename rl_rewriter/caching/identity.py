"""Names for objects that no other object ever has, not even one at the same address later."""

from __future__ import annotations

import weakref
from typing import Any

_known: dict[int, tuple[weakref.ref[Any], object]] = {}


def identity_of(thing: Any) -> object | None:
    """The same mark for the same object, another one for any other object, equal or not.

    Unlike ``id``, it isn't used again after the object is gone, so it can be part of a cache's key
    without keeping the object alive. None for objects that can't be watched (no weak references).
    """
    address = id(thing)
    entry = _known.get(address)
    if entry is not None and entry[0]() is thing:
        return entry[1]

    def forget(dead: weakref.ref[Any]) -> None:
        current = _known.get(address)
        if current is not None and current[0] is dead:
            _known.pop(address, None)

    try:
        watched = weakref.ref(thing, forget)
    except TypeError:
        return None
    if entry is not None and _known.get(address) is entry:  # of an object that stood there before
        _known.pop(address, None)
    watched, mark = _known.setdefault(address, (watched, object()))
    return mark if watched() is thing else identity_of(thing)
