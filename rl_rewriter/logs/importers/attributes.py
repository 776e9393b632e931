"""Attributes of spans, flat or nested, as plain values or as OTLP's typed ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rl_rewriter.logs.importers.scalars import number_of, parsed

Attributes = Mapping[str, Any]

_MAX_DEPTH = 20
_SCALARS = ("stringValue", "doubleValue", "boolValue", "string_value", "double_value", "bool_value")
_INTEGERS = ("intValue", "int_value")


def attributes_of(value: Any) -> Attributes:
    """An object of attributes; OTLP's list of keys and typed values becomes one."""
    value = parsed(value)
    if isinstance(value, dict):
        return value
    return _keyed(value, 0) if isinstance(value, list) else {}


def attribute(attributes: Attributes, name: str) -> Any:
    """The value under a dotted name, whether the dots are in the key or are levels; else None."""
    if name in attributes:
        return attributes[name]
    dot = name.find(".")
    while dot != -1:
        inner = attributes.get(name[:dot])
        if isinstance(inner, dict):
            found = attribute(inner, name[dot + 1 :])
            if found is not None:
                return found
        dot = name.find(".", dot + 1)
    return None


def first_attribute(attributes: Attributes, names: tuple[str, ...]) -> Any:
    """The value under the first of several names that is there; else None."""
    for name in names:
        if (value := attribute(attributes, name)) is not None:
            return value
    return None


def listed(attributes: Attributes, name: str) -> list[Any] | None:
    """A list of attributes; one that is spread over ``name.0.x``, ``name.1.x`` is put together."""
    value = parsed(attribute(attributes, name))
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        return _in_order(value.items())
    prefix = f"{name}."
    spread: dict[str, dict[str, Any]] = {}
    for key, inner in attributes.items():
        if key.startswith(prefix):
            number, _, rest = key[len(prefix) :].partition(".")
            spread.setdefault(number, {})[rest] = inner
    return _in_order(spread.items())


def _in_order(numbered: Any) -> list[Any] | None:
    """Values by their number; None where the keys are no numbers."""
    found = {int(key): value for key, value in numbered if key.isascii() and key.isdecimal()}
    return [found[number] for number in sorted(found)] or None


def _keyed(pairs: list[Any], depth: int) -> dict[str, Any]:
    return dict(_pairs(pairs, depth))


def _pairs(pairs: list[Any], depth: int) -> Iterator[tuple[str, Any]]:
    for pair in pairs:
        if isinstance(pair, dict) and isinstance(key := pair.get("key"), str):
            yield key, _plain(pair.get("value"), depth)


def _plain(value: Any, depth: int) -> Any:
    """The value inside OTLP's ``{"stringValue": ...}``; other values as they are."""
    if not isinstance(value, dict) or depth > _MAX_DEPTH:
        return value
    for key in _SCALARS:
        if key in value:
            return value[key]
    for key in _INTEGERS:  # 64-bit integers are text in JSON
        if key in value:
            return number_of(value[key])
    for key in ("arrayValue", "array_value"):
        if isinstance(inner := value.get(key), dict) and isinstance(
            values := inner.get("values"), list
        ):
            return [_plain(element, depth + 1) for element in values]
    for key in ("kvlistValue", "kvlist_value"):
        if isinstance(inner := value.get(key), dict) and isinstance(
            values := inner.get("values"), list
        ):
            return _keyed(values, depth + 1)
    return None
