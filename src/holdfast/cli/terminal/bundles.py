"""Bundles: options that belong together are declared once, and commands take them as one value."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields
from functools import wraps
from inspect import Parameter
from typing import Any, get_type_hints


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """Options of a command. Each field of a subclass is annotated as a parameter would be."""


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take bundles: on the command line, each of their fields is an option."""
    hints = get_type_hints(command, include_extras=True)
    bundles = {
        name: hint
        for name, hint in hints.items()
        if isinstance(hint, type) and issubclass(hint, Bundle)
    }

    @wraps(command)
    def run(**given: Any) -> None:
        for name, bundle in bundles.items():
            own = {field.name: given.pop(field.name) for field in fields(bundle)}
            given[name] = bundle(**own)
        command(**given)

    parameters: list[Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name in bundles:
            parameters += _options(bundles[name])
        else:
            parameters.append(
                parameter.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY)
            )
    # Typer reads both.
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


def _options(bundle: type[Bundle]) -> Iterator[Parameter]:
    hints = get_type_hints(bundle, include_extras=True)
    for field in fields(bundle):
        default = Parameter.empty if field.default is MISSING else field.default
        yield Parameter(
            field.name, Parameter.KEYWORD_ONLY, default=default, annotation=hints[field.name]
        )
