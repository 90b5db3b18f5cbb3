"""Descriptions of fields in the OpenAPI document, taken from their `#:` comments."""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Iterator

from holdfast.server.views.derive import model_of
from holdfast.server.views.fields import Body, Query, View

_CLASS = re.compile(r"^class (\w+)", re.MULTILINE)
_COMMENTED = re.compile(r"((?:^    #: .*\n)+)    (\w+):", re.MULTILINE)
#: Comments of the model say None, as Python does.
_NONE = re.compile(r"\bNone\b")


def by_struct() -> dict[str, dict[str, str]]:
    """Return the comments of fields by the names of structs and of their fields."""
    return {struct.__name__: _of(struct) for base in (Body, Query, View) for struct in _below(base)}


def _below(base: type) -> Iterator[type]:
    found: list[type] = base.__subclasses__()
    for one in found:
        yield one
        yield from _below(one)


def _of(struct: type) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in reversed(struct.__mro__):
        if not one.__module__.startswith("holdfast."):
            continue
        derived = model_of(one)
        if derived is not None:
            model, names = derived
            for field, text in _comments(model).items():
                found[names.get(field, field)] = _NONE.sub("null", text)
        found |= _comments(one)
    return found


def _comments(one: type) -> dict[str, str]:
    found = _COMMENTED.findall(_classes(one.__module__)[one.__name__])
    return {
        field: " ".join(line.strip().removeprefix("#: ") for line in comment.splitlines())
        for comment, field in found
    }


@functools.cache
def _classes(module: str) -> dict[str, str]:
    """Return the source after the name of each class of a module, up to the next class.

    `inspect` parses the whole module for each class, which would block a server for a second.
    """
    _, *parts = _CLASS.split(inspect.getsource(sys.modules[module]))
    return dict(zip(parts[::2], parts[1::2], strict=True))
