"""Importers by the names that the command line uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rl_rewriter.errors import InputError
from rl_rewriter.logs.importers.found import Importer
from rl_rewriter.logs.importers.langfuse import Langfuse
from rl_rewriter.logs.importers.langsmith import LangSmith
from rl_rewriter.logs.importers.llama_index import LlamaIndex
from rl_rewriter.logs.importers.otel import OpenTelemetry
from rl_rewriter.logs.importers.phoenix import Phoenix

IMPORTERS: Mapping[str, Callable[[], Importer]] = {
    "langsmith": LangSmith,
    "langfuse": Langfuse,
    "phoenix": Phoenix,
    "otel": OpenTelemetry,
    "llama-index": LlamaIndex,
}


def open_importer(tool: str) -> Importer:
    """A new importer.

    Raises:
        InputError: There is none of this name.
    """
    if tool not in IMPORTERS:
        raise InputError(f"unknown tool {tool!r}; exports are read from {', '.join(IMPORTERS)}")
    return IMPORTERS[tool]()


def tools_of(row: Mapping[str, Any]) -> list[str]:
    """Tools whose rows look like this one."""
    return [tool for tool, make in IMPORTERS.items() if make().recognises(row)]
