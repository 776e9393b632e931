"""Whether a JSON value is a record of the decision-log format, and if not, why not."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from reprlib import Repr
from typing import Any

from rl_rewriter.logs.asked import is_asked
from rl_rewriter.logs.records import SCHEMA

_short = Repr()
_short.maxstring = _short.maxother = _short.maxlong = 60
_short.maxlevel = 2
_NUMBERS = frozenset({int, float})
_NOTHING = type(None)


@dataclass(frozen=True)
class Problem:
    """Why something is no record.

    Attributes:
        reason: One word for counting, such as "not_json" or "bad_time".
        sentence: What is wrong, to stand behind the place: "has no time".
    """

    reason: str
    sentence: str


def problem_of(value: Any) -> Problem | None:
    """What is wrong with a JSON value as a record, or None; foreign keys are nobody's business."""
    if type(value) is not dict:
        return Problem("not_an_object", f"is no record but {_short.repr(value)}")
    schema = value.get("schema")
    if schema != SCHEMA or type(schema) is not int:
        return Problem(
            "schema", f"has schema {_short.repr(schema)}; this version reads schema {SCHEMA}"
        )
    kind = value.get("type")
    fields = _FIELDS.get(kind) if type(kind) is str else None
    if fields is None:
        return Problem(
            "type", f'is of type {_short.repr(kind)}, which is neither "decision" nor "feedback"'
        )
    for name, (is_right, expected, required) in fields.items():
        found = value.get(name)
        if found is None:
            if required:
                return Problem(f"no_{name}", f"is a {kind} record without {name}")
        elif not is_right(found):
            return Problem(
                f"bad_{name}",
                f"has {_short.repr(found)} for {name}, which must be {expected}",
            )
    return None


def _is_text(value: Any) -> bool:
    return type(value) is str


def _is_name(value: Any) -> bool:
    return type(value) is str and value != ""


def _is_number(value: Any) -> bool:
    try:
        return type(value) in _NUMBERS and math.isfinite(value)
    except OverflowError:  # an int beyond the range of floats
        return False


def _is_positive(value: Any) -> bool:
    return _is_number(value) and value > 0


def _is_rank(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 31


def _are_numbers(value: Any) -> bool:
    if type(value) is not list:
        return False
    try:
        return math.isfinite(math.fsum(value))  # takes numbers alone, and is quicker than a loop
    except (TypeError, ValueError, OverflowError):
        return False


def _are_shares(value: Any) -> bool:
    if type(value) is not dict:
        return False
    values = value.values()
    try:
        return math.isfinite(math.fsum(values)) and (not value or min(values) >= 0)
    except (TypeError, ValueError, OverflowError):
        return False


def _are_named_texts(value: Any) -> bool:
    return type(value) is dict and all(type(text) is str for text in value.values())


def _are_texts(value: Any) -> bool:
    return type(value) is list and all(text is None or type(text) is str for text in value)


def _are_documents(value: Any) -> bool:
    if type(value) is not list:
        return False
    for document in value:
        if type(document) is not dict or type(document.get("id")) is not str:
            return False
        score = document.get("score")
        if type(score) is not float and score is not None and not _is_number(score):
            return False
    return True


_Check = tuple[Callable[[Any], bool], str, bool]
_FIELDS: Mapping[str, Mapping[str, _Check]] = {
    "decision": {
        "id": (_is_name, "a text that isn't empty", True),
        "time": (_is_number, "a finite number of seconds", True),
        "action": (_is_name, "a text that isn't empty", True),
        "query": (_is_text, "a text or null", False),
        "asked": (is_asked, "an object of history, where and where_document, or null", False),
        "texts": (_are_texts, "a list of texts", False),
        "propensity": (_is_positive, "a finite number above 0, or null", False),
        "probabilities": (
            _are_shares,
            "an object of finite numbers that aren't negative, or null",
            False,
        ),
        "blends": (_are_named_texts, "an object of texts, or null", False),
        "sigma": (_is_positive, "a finite number above 0, or null", False),
        "weights": (
            _are_shares,
            "an object of finite numbers that aren't negative, or null",
            False,
        ),
        "log_density": (_is_number, "a finite number, or null", False),
        "state": (_are_numbers, "a list of finite numbers, or null", False),
        "state_schema": (_is_text, "a text", False),
        "reason": (_is_text, "a text", False),
        "policy_name": (_is_text, "a text", False),
        "policy_version": (_is_text, "a text", False),
        "strength": (_is_number, "a finite number", False),
        "cost": (_is_number, "a finite number", False),
        "documents": (_are_documents, 'a list of {"id": text, "score": number or null}', False),
        "tags": (lambda value: type(value) is dict, "an object", False),
    },
    "feedback": {
        "decision_id": (_is_name, "a text that isn't empty", True),
        "kind": (_is_name, "a text that isn't empty", True),
        "value": (_is_number, "a finite number", True),
        "time": (_is_number, "a finite number of seconds", True),
        "position": (_is_rank, "a whole number from 0, or null", False),
        "document_id": (_is_text, "a text or null", False),
    },
}
