"""Groups of options that several commands share, as dataclasses."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from typing import Any, TypeVar, get_type_hints

GroupT = TypeVar("GroupT")
Command = Callable[..., None]


def with_options(**groups: type[Any]) -> Callable[[Command], Command]:
    """Give a command the fields of dataclasses as options.

    ``@with_options(store=StoreOptions)`` replaces the command's parameter ``store`` by one option a
    field and hands the command the filled dataclass. Fields carry their typer annotation.
    """

    def decorate(command: Command) -> Command:
        hints = get_type_hints(command, include_extras=True)
        own = [
            parameter.replace(annotation=hints[parameter.name], kind=inspect.Parameter.KEYWORD_ONLY)
            for parameter in inspect.signature(command).parameters.values()
            if parameter.name not in groups
        ]
        shared = {name: _parameters(group) for name, group in groups.items()}

        @functools.wraps(command)
        def run(**values: Any) -> None:
            filled = {
                name: groups[name](**{p.name: values.pop(p.name) for p in parameters})
                for name, parameters in shared.items()
            }
            command(**values, **filled)

        parameters = [*own, *(p for group in shared.values() for p in group)]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return decorate


def _parameters(group: type[Any]) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=_default(field),
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]


def _default(field: Field[Any]) -> Any:
    return inspect.Parameter.empty if field.default is MISSING else field.default
