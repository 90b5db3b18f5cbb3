"""How fields of flow files are declared, once: the parser, the schema and lint read this."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from holdfast.host.yaml_source import Node

#: The metadata of a dataclass field that holds its declaration.
DECLARED = "declared"


class Of(StrEnum):
    """What a field holds."""

    TEXT = "text"  # a text with templates
    WORD = "word"  # a text without templates
    VALUE = "value"  # any JSON value with templates
    OBJECT = "object"  # a mapping of names to JSON values with templates
    EXPRESSION = "expression"
    FLAG = "flag"
    INTEGER = "integer"
    DURATION = "duration"
    SCHEMA = "schema"
    NODE = "node"
    FLOW = "flow"
    COMPONENT = "component"
    OPERATION = "operation"
    TOOLS = "tools"
    MODEL = "model"
    PROVIDER = "provider"
    HEADERS = "headers"
    TEXTS = "texts"  # a text with templates, or a list of them
    BRANCHES = "branches"
    WORK = "work"


@dataclass(frozen=True, slots=True)
class Declared:
    """The declaration of a field."""

    of: Of
    about: str
    required: bool = False
    choices: tuple[str, ...] = ()
    low: int = 0
    high: int = 0
    #: The type that the value must have, as types.py names it.
    type: str = "any"


def declared(
    of: Of,
    about: str,
    *,
    default: Any = None,
    required: bool = False,
    choices: tuple[str, ...] = (),
    low: int = 0,
    high: int = 0,
    type: str = "any",  # noqa: A002 - as it is called everywhere else
) -> Any:
    """Declare a field of a dataclass."""
    declaration = Declared(of, about, required, choices, low, high, type)
    return dataclasses.field(default=default, metadata={DECLARED: declaration})


def declarations(cls: type) -> dict[str, Declared]:
    """Return the declared fields of a dataclass, by the key that they have in files."""
    return {
        field.name.rstrip("_"): field.metadata[DECLARED]
        for field in dataclasses.fields(cls)
        if DECLARED in field.metadata
    }


@dataclass(frozen=True, slots=True)
class Ref:
    """A name of something that is declared elsewhere, and where it is used."""

    name: str
    node: Node = dataclasses.field(repr=False, compare=False)

    def __str__(self) -> str:
        return self.name
