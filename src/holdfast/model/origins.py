"""Origins of web pages, as browsers send them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from holdfast.model import checks

#: No trailing slash, no capitals.
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#A-Z\s;,'\"]+")


def check_origins(field: str, origins: Iterable[str]) -> None:
    """Check origins such as https://app.example.org; raises InvalidInput."""
    for origin in origins:
        if not _ORIGIN.fullmatch(origin):
            checks.refuse(field, "must be an origin such as https://app.example.org", origin)
