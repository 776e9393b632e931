"""Attributes of spans in every form."""

from __future__ import annotations

from rl_rewriter.logs.importers.attributes import attribute, attributes_of, listed


def test_dots_may_be_levels_or_not() -> None:
    assert attribute({"a.b.c": 1}, "a.b.c") == 1
    assert attribute({"a": {"b": {"c": 1}}}, "a.b.c") == 1
    assert attribute({"a": {"b.c": 1}}, "a.b.c") == 1
    assert attribute({"a.b": {"c": 1}}, "a.b.c") == 1
    assert attribute({"a": 1}, "a.b.c") is None
    assert attribute({"a": {"b": None}, "a.b": {"c": 2}}, "a.b.c") == 2


def test_otlp_values_become_plain_ones() -> None:
    pairs = [
        {"key": "text", "value": {"stringValue": "x"}},
        {"key": "whole", "value": {"intValue": "12"}},
        {"key": "snake", "value": {"double_value": 0.5}},
        {"key": "flag", "value": {"boolValue": False}},
        {"key": "list", "value": {"arrayValue": {"values": [{"intValue": 1}, {}]}}},
        {
            "key": "object",
            "value": {"kvlistValue": {"values": [{"key": "a", "value": {"stringValue": "b"}}]}},
        },
        {"key": "empty", "value": {}},
        {"key": 7},
        "nonsense",
    ]
    assert attributes_of(pairs) == {
        "text": "x",
        "whole": 12.0,
        "snake": 0.5,
        "flag": False,
        "list": [1.0, None],
        "object": {"a": "b"},
        "empty": None,
    }
    assert attributes_of('{"a": 1}') == {"a": 1}
    assert attributes_of("a") == attributes_of(None) == {}


def test_lists_that_are_spread_over_keys_are_put_in_order() -> None:
    spread = {"docs.10.id": "c", "docs.2.id": "b", "docs.0.id": "a", "docs.0.score": 1, "docs.x": 2}
    assert listed(spread, "docs") == [{"id": "a", "score": 1}, {"id": "b"}, {"id": "c"}]
    assert listed({"docs": {"1": "b", "0": "a"}}, "docs") == ["a", "b"]
    assert listed({"docs": "[1, 2]"}, "docs") == [1, 2]
    assert listed({"docs": "words"}, "docs") is None
