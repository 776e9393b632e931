"""One line of a file of rewrites, and how arms are called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from rl_rewriter.actions.precomputed import ARM_PREFIX, PrecomputedText, as_words
from rl_rewriter.benchmark.collections.files import Place, shown
from rl_rewriter.benchmark.collections.values import id_of
from rl_rewriter.errors import InputError

MAX_LLM_CALLS = 1000
"""More for one rewrite is a mistake in the file."""


class Arm(NamedTuple):
    """Who made a rewrite: a given name, or a method and a model, one of which may be missing."""

    name: str = ""
    method: str = ""
    model: str = ""


class RewriteRow(NamedTuple):
    """One line.

    Attributes:
        query_id: "" where the line tells the query's words alone.
        words: The query's words, made comparable; "" where the line doesn't tell.
        arm: Who made the rewrite.
        made: The rewrite; its text is empty where there is none.
    """

    query_id: str
    words: str
    arm: Arm
    made: PrecomputedText


def row_of(values: Mapping[str, Any], place: Place) -> RewriteRow:
    """Take what counts from a line's object.

    Raises:
        InputError: Something is missing or of another type; the text names the line.
    """
    text, query, id_ = values.get("text"), values.get("query"), values.get("_id")
    if not isinstance(text, str):
        raise InputError(f"{place}: the rewrite must be a text, got {shown(text)}")
    if query is not None and not isinstance(query, str):
        raise InputError(f"{place}: the query must be a text, got {shown(query)}")
    if id_ is None and not (query and query.strip()):
        raise InputError(f'{place} has neither "_id" nor "query"')
    calls = values.get("llm_calls", 1)
    if type(calls) is not int or not 0 <= calls <= MAX_LLM_CALLS:
        raise InputError(
            f"{place}: llm_calls must be a whole number up to {MAX_LLM_CALLS}, got {shown(calls)}"
        )
    return RewriteRow(
        query_id="" if id_ is None else id_of(id_, place),
        words=as_words([query]) if query else "",
        arm=_arm(values, place),
        made=PrecomputedText(text.strip(), calls),
    )


def arm_names(arms: Iterable[Arm]) -> dict[Arm, str]:
    """What arms are called: the given name, or "method/model" with the model's short name."""
    distinct = set(arms)
    short = short_names(arm.model for arm in distinct)
    return {
        arm: arm.name.removeprefix(ARM_PREFIX)
        or "/".join(filter(None, (arm.method, short[arm.model])))
        for arm in distinct
    }


def short_names(models: Iterable[str]) -> dict[str, str]:
    """Models without their owner ("openai/gpt-4.1" is "gpt-4.1") where that tells them apart."""
    distinct = set(models)
    counts = Counter(_without_owner(model) for model in distinct)
    return {
        model: short if counts[short := _without_owner(model)] == 1 else model for model in distinct
    }


def _arm(values: Mapping[str, Any], place: Place) -> Arm:
    given = {
        name: values[name] for name in ("arm", "method", "model") if values.get(name) is not None
    }
    if not given:
        raise InputError(f'{place} has no "arm", and no "method" or "model" either')
    for name, value in given.items():
        if not isinstance(value, str) or not value.strip() or not value.isprintable():
            raise InputError(f"{place}: {name} must be a name, got {shown(value)}")
    if "arm" in given:
        return Arm(name=given["arm"].strip())
    return Arm(method=given.get("method", "").strip(), model=given.get("model", "").strip())


def _without_owner(model: str) -> str:
    return model.rstrip("/").rsplit("/", 1)[-1]
