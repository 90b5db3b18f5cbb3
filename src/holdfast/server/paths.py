"""Slashes inside path parameters.

An id may contain a slash, which clients send as %2F. Servers hand over the decoded path, in which
it could not be told from one that separates; so it is kept apart until the path was matched.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

#: Stands for a slash inside a parameter; a path cannot contain it otherwise.
_INNER_SLASH = "\x00"
_ESCAPED_SLASH = re.compile(rb"%2[fF]")


def kept_apart(raw_path: bytes) -> str | None:
    """Return the decoded path with inner slashes kept apart; None if it is not allowed."""
    if b"%00" in raw_path:
        return None
    try:
        return unquote(_ESCAPED_SLASH.sub(b"%00", raw_path).decode("ascii"), errors="strict")
    except UnicodeDecodeError:
        return None


def restored(param: str) -> str:
    """Return a parameter as it was meant."""
    return param.replace(_INNER_SLASH, "/")
