"""Objects of the user's own code, named as ``package.module:name``."""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from rl_rewriter.errors import InputError
from rl_rewriter.retrieval.known_documents import over_documents
from rl_rewriter.retrieval.protocols import CollectionRetriever


def load_object(spec: str) -> Any:
    """Import an object; modules of the current folder are found as well.

    A function or class that can be called without arguments is a factory: what it returns is taken.

    Args:
        spec: ``package.module:name``; the name may have dots.

    Raises:
        InputError: The text has another form, there is no such module or name, or importing or
            calling it fails.
    """
    module_name, colon, name = spec.partition(":")
    is_named = bool(colon) and all(
        map(str.isidentifier, [*module_name.split("."), *name.split(".")])
    )
    if not is_named:
        raise InputError(
            f'an object of your own is named MODULE:OBJECT, such as "my_chain:retriever", got '
            f"{spec!r}"
        )
    found: Any = _module(module_name)
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            names = ", ".join([each for each in dir(found) if not each.startswith("_")][:10])
            raise InputError(
                f"{spec}: {module_name} has no {name!r}; it has {names or 'nothing'}"
            ) from None
    return _made(found, spec) if _is_factory(found) else found


def load_retriever(spec: str, documents: Mapping[str, str]) -> CollectionRetriever:
    """A retriever of the user's own over a collection's documents.

    Args:
        spec: ``package.module:name`` of a LangChain or LlamaIndex retriever, or of a function (see
            :class:`~rl_rewriter.retrieval.foreign.ForeignRetriever`), or of what makes one.
        documents: Document id -> text; empty where they aren't known.

    Raises:
        InputError: It cannot be loaded, or is no retriever.
    """
    found = load_object(spec)
    try:
        return over_documents(found, documents, spec.partition(":")[2])
    except InputError as error:
        raise InputError(f"{spec}: {error}") from error


def _module(name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)  # for good: the module may import others later
    importlib.invalidate_caches()
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise InputError(f"importing {name} failed: {error}") from error
        raise InputError(f"there is no module {name!r}, neither installed nor in {here}") from None
    except (Exception, SystemExit) as error:
        raise InputError(f"importing {name} failed ({type(error).__name__}: {error})") from error


def _is_factory(found: Any) -> bool:
    """Whether calling it without arguments means to make something: no argument is required."""
    if not (inspect.isroutine(found) or isinstance(found, type | functools.partial)):
        return False
    try:
        parameters = inspect.signature(found).parameters.values()
    except (ValueError, TypeError):
        return False
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    named = [p for p in parameters if p.kind not in variable]
    is_open = len(named) < len(parameters) and not named and not isinstance(found, type)
    return not is_open and all(p.default is not inspect.Parameter.empty for p in named)


def _made(factory: Any, spec: str) -> Any:
    try:
        return factory()
    except (Exception, SystemExit) as error:
        raise InputError(f"{spec}() failed ({type(error).__name__}: {error})") from error
