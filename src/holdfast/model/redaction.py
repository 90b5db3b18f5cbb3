"""Keeps secrets out of texts that people read."""

from __future__ import annotations

import re

#: Everything up to the last @: a password may itself contain one.
_LOGIN = re.compile(r"://.*@")


def hide_secrets(text: str) -> str:
    """Hide the user and password of any URL in a text."""
    return _LOGIN.sub("://***@", text)
