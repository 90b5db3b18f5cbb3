"""JSON merge patch (RFC 7396) on bytes: members that a patch does not name keep every byte.

Values are never converted to Python, so numbers of any length, empty objects and empty arrays stay
as they were.
"""

from __future__ import annotations

from typing import Any

import msgspec

from holdfast.errors import TooLarge
from holdfast.model import bounds, checks

_decode_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_WHITESPACE = b" \t\r\n"

#: An object whose values are objects again, or JSON as it was written.
_Tree = dict[str, Any]


def merge(document: bytes, patch: bytes) -> bytes:
    """Return the document with a patch merged into it; both are JSON objects."""
    if not _is_object(patch):
        checks.refuse("patch", "must be a JSON object", patch)
    try:
        merged = msgspec.json.encode(_merge(document, patch, bounds.SUMMARY_DEPTH))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        checks.refuse("patch", f"must be JSON ({error})", patch)
    if len(merged) > bounds.SUMMARY_BYTES:
        message = (
            f"summary: the document would have {len(merged)} bytes, "
            f"over the limit of {bounds.SUMMARY_BYTES}"
        )
        raise TooLarge(message, field="summary", limit=bounds.SUMMARY_BYTES)
    return merged


def _merge(target: bytes | None, patch: bytes, depth: int) -> _Tree:
    if depth == 0:
        checks.refuse("patch", f"is nested deeper than {bounds.SUMMARY_DEPTH} levels", patch)
    merged: _Tree = {}
    if target is not None and _is_object(target):
        merged = dict(_decode_object(target))
    for name, change in _decode_object(patch).items():
        value = bytes(change)
        if value.strip(_WHITESPACE) == b"null":
            merged.pop(name, None)
        elif _is_object(value):
            before = merged.get(name)
            merged[name] = _merge(None if before is None else bytes(before), value, depth - 1)
        else:
            merged[name] = change
    return merged


def _is_object(value: bytes) -> bool:
    return value.lstrip(_WHITESPACE).startswith(b"{")
