"""The Lua functions, which processes of an older version call in the library of a newer one."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.store.valkey import library
from holdfast.store.valkey.library import Source


def arguments() -> dict[str, list[str]]:
    """Return the arguments of each function."""
    return {
        name: list(source.header.args)
        for source in library.sources().values()
        if not source.is_lib
        for name in _names(source)
    }


def _names(source: Source) -> Iterator[str]:
    yield source.function
    if source.header.owned:
        yield source.owned_function
