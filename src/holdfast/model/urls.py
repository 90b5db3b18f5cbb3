"""Addresses that users give Holdfast to call."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from holdfast.model import bounds, checks


def check_url(field: str, value: Any) -> str:
    """Check the address of a receiver."""
    checks.text(field, value, bounds.URL_CHARS, empty=False)
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        checks.refuse(field, "is not a URL", "(not shown)")
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0:
        checks.refuse(field, "must be a URL with http or https and a host", "(not shown)")
    if parts.username is not None or parts.password is not None:
        checks.refuse(field, "must not have a user or a password", "(not shown)")
    return str(value)
