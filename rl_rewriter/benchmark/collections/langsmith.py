"""Examples of a LangSmith dataset, as its export and its client write them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rl_rewriter.benchmark.collections.fields import (
    CONTEXTS,
    DOCUMENTS,
    GRADE,
    GROUP,
    HISTORY,
    KIND,
    QUESTION,
    SPLIT,
    normalised,
    pick,
)


def example_fields(example: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a judged row, from ``{"inputs", "outputs", "metadata", "split", "id"}``.

    The question is the input of a usual name, or the only text among the inputs; where the inputs
    are messages, it is the last of them. Splits are kept in ``metadata["dataset_split"]`` by
    LangSmith itself.
    """
    inputs, outputs, metadata = (
        normalised(part) if isinstance(part := example.get(name), Mapping) else {}
        for name in ("inputs", "outputs", "metadata")
    )
    question, history = pick(inputs, QUESTION), pick(inputs, HISTORY)
    if question is None and history is None:
        texts = [value for value in inputs.values() if isinstance(value, str)]
        question = texts[0] if len(texts) == 1 else None
    asked = {**metadata, **inputs}
    return {
        **{f"inputs.{name}": value for name, value in inputs.items()},
        **{f"outputs.{name}": value for name, value in outputs.items()},
        "id": example.get("id"),
        "question": question,
        "history": history,
        "documents": pick(outputs, DOCUMENTS),
        "reference_contexts": pick(outputs, CONTEXTS),
        "grade": pick(outputs, GRADE),
        "split": example.get("split") or pick(metadata, SPLIT),
        "group": pick(asked, GROUP),
        "kind": pick(asked, KIND),
    }
