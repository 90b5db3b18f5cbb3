"""Puts an engine together from its nouns, which are found by their names.

The contract (`Engine`) lists the nouns. The class that implements one is in the module of the same
name: `things: Things` is `Things` of `holdfast.engine.things` and `RemoteThings` of
`holdfast.client.things`.
"""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any, get_type_hints

from holdfast.api.engine import Engine


@functools.cache
def nouns() -> dict[str, type]:
    """Return the contract of each noun by the name that an engine has it under."""
    return get_type_hints(Engine)


def add_nouns(engine: Engine, package: str, foundation: Any, *, prefix: str = "") -> None:
    """Give an engine the nouns of a package that it has not yet, each made on the foundation."""
    for name, contract in nouns().items():
        if not hasattr(engine, name):
            kind = getattr(import_module(f"{package}.{name}"), prefix + contract.__name__)
            setattr(engine, name, kind(foundation))
