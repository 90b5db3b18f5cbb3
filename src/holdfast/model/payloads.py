"""Payloads inside JSON: unchanged if they are JSON, else base64."""

from __future__ import annotations

import base64

import msgspec
from msgspec import Raw


def as_json(data: bytes) -> Raw | None:
    """Return bytes as part of a JSON document, unchanged; None if they are not JSON."""
    try:
        str(data, "utf-8")
        value: Raw = msgspec.json.decode(data, type=Raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    # Space around a value would be lost.
    return value if len(bytes(value)) == len(data) else None


def as_base64(data: bytes) -> str:
    """Return bytes in base64."""
    return base64.b64encode(data).decode()


def fields(name: str, data: bytes) -> dict[str, object]:
    """Return the field that holds a payload in bodies and replies."""
    value = as_json(data)
    return {name: value} if value is not None else {f"{name}_base64": as_base64(data)}
