"""Fields of replies that have payloads: a caller may not see them, or not all of them.

A view declares such a field with one of these types, and `server/views/veil.py` does the rest.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from typing import Annotated, Any, get_args, get_type_hints

import msgspec
from msgspec import Meta, UnsetType

_EXTRA = "payload"


class Part(StrEnum):
    """Which part of a payload a field has."""

    WHOLE = "whole"
    #: A payload that is an object; hidden, it is empty.
    OBJECT = "object"
    #: The field of a payload that has the same name, such as `text`.
    FIELD = "field"
    #: A field of a payload, with the name that the view has.
    NAMED = "named"
    #: A payload that is not JSON, instead of the field without `_base64`.
    BASE64 = "base64"
    #: An object with an `input` or `input_base64`.
    TEMPLATE = "template"
    #: An error: its message and details may quote payloads; its type, code and place do not.
    ERROR = "error"
    #: Words that may quote payloads.
    WORDS = "words"


def _mark(part: Part) -> Meta:
    return Meta(extra={_EXTRA: part}, extra_json_schema={"x-payload": part.value})


Payload = Annotated[Any, _mark(Part.WHOLE)]
PayloadField = Annotated[str, _mark(Part.FIELD)]
PayloadObject = Annotated[dict[str, Any], _mark(Part.OBJECT)]
NamedPayload = Annotated[Any, _mark(Part.NAMED)]
PayloadBase64 = Annotated[str, _mark(Part.BASE64)] | UnsetType
PayloadTemplate = Annotated[dict[str, Any], _mark(Part.TEMPLATE)]
PayloadError = Annotated[Any, _mark(Part.ERROR)]
Words = Annotated[str, _mark(Part.WORDS)]


@cache
def parts_of(view: type[msgspec.Struct]) -> dict[str, Part]:
    """Return the fields of a view that have payloads."""
    hints = get_type_hints(view, include_extras=True)
    parts = {name: _part(hints[name]) for name in view.__struct_fields__}
    return {name: part for name, part in parts.items() if part is not None}


def _part(hint: Any) -> Part | None:
    metas = [meta for meta in getattr(hint, "__metadata__", ()) if isinstance(meta, Meta)]
    found = [meta.extra[_EXTRA] for meta in metas if meta.extra and _EXTRA in meta.extra]
    inner = [part for arg in get_args(hint) for part in [_part(arg)] if part is not None]
    return next(iter([*found, *inner]), None)
