"""Error messages for values that do not fit their type."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import inspect

from holdfast.errors import InvalidInput

_AT = re.compile(r" - at `\$\.?(?P<path>[^`]*)`$")
_FIELD = re.compile(r"Object (?P<what>contains unknown|missing required) field `(?P<name>[^`]*)`")
_FIELD_PROBLEMS = {"contains unknown": "is not a known field", "missing required": "is missing"}
_STEP = re.compile(r"\[[^\]]*\]|[^.\[]+")


def misfit(error: msgspec.ValidationError, kind: Any, where: str) -> InvalidInput:
    """Return the error for a value that does not fit its type; `where` names the whole."""
    text = str(error)
    at = _AT.search(text)
    path = at["path"] if at else ""
    problem = text[: at.start()] if at else text
    if found := _FIELD.match(problem):
        path = f"{path}.{found['name']}".removeprefix(".")
        problem = _FIELD_PROBLEMS[found["what"]]
    elif problem.startswith("Invalid enum value"):
        choices = _choices(inspect.type_info(kind), _STEP.findall(path))
        problem = f"must be one of {', '.join(choices)}"
    field = path or where
    return InvalidInput(f"{field}: {problem}", field=field)


def _choices(kind: inspect.Type, steps: list[str]) -> list[str]:
    """Return the accepted values at the end of a path."""
    kinds = _options(kind)
    for step in steps:
        kinds = [option for one in kinds for part in _parts(one, step) for option in _options(part)]
    return sorted(value for one in kinds for value in _values(one))


def _options(kind: inspect.Type) -> list[inspect.Type]:
    if isinstance(kind, inspect.Metadata):
        return _options(kind.type)
    return list(kind.types) if isinstance(kind, inspect.UnionType) else [kind]


def _parts(kind: inspect.Type, step: str) -> list[inspect.Type]:
    match kind:
        case inspect.StructType():
            return [field.type for field in kind.fields if field.encode_name == step]
        case inspect.ListType() | inspect.VarTupleType():
            return [kind.item_type]
        case inspect.DictType():
            return [kind.value_type]
        case _:
            return []


def _values(kind: inspect.Type) -> list[str]:
    match kind:
        case inspect.EnumType():
            return [str(one.value) for one in kind.cls]
        case inspect.LiteralType():
            return [str(value) for value in kind.values]
        case _:
            return []
