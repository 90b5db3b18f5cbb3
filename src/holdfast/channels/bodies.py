"""Bodies of webhooks: JSON and forms. Whatever does not fit is refused as malformed."""

from __future__ import annotations

from typing import Any, TypeVar
from urllib.parse import parse_qsl

import msgspec

from holdfast.errors import Malformed

T = TypeVar("T")
_MOST_FIELDS = 500


def decoded(body: bytes | str, kind: type[T]) -> T:
    """Return JSON as a type; raises Malformed."""
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise Malformed(f"the body does not fit: {error}", field="body") from None


def form(body: bytes) -> list[tuple[str, str]]:
    """Return the fields of a form in their order; raises Malformed."""
    try:
        return parse_qsl(
            body.decode(),
            keep_blank_values=True,
            strict_parsing=bool(body),
            errors="strict",
            max_num_fields=_MOST_FIELDS,
        )
    except ValueError as error:
        raise Malformed(f"the body is not a form: {error}", field="body") from None


def compact(value: dict[str, Any]) -> dict[str, Any]:
    """Return an object without its empty fields."""
    return {name: one for name, one in value.items() if one not in (None, "", [], {})}
