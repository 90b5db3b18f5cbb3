"""Signatures of webhooks: compared in constant time, and only as old as the replay window."""

from __future__ import annotations

import binascii
import hmac
from base64 import b64decode

from holdfast.errors import InvalidSignature

#: A signature with a timestamp holds this long before and after it.
WINDOW_S = 300
_DIGITS = 15


def check(expected: str, given: str) -> None:
    """Compare two signatures; raises InvalidSignature."""
    if not hmac.compare_digest(expected.encode(), given.encode("utf-8", "replace")):
        raise InvalidSignature("the signature of the call is missing or wrong")


def check_time(stamp: str, at_s: float) -> None:
    """Check that a timestamp in seconds is recent; raises InvalidSignature."""
    is_number = stamp.isascii() and stamp.isdecimal() and len(stamp) <= _DIGITS
    if not is_number or abs(int(stamp) - at_s) > WINDOW_S:
        raise InvalidSignature("the timestamp of the call is missing, or too far away")


def hex_digest(secret: str, message: bytes) -> str:
    """Return the HMAC-SHA256 of a message in hex."""
    return hmac.digest(secret.encode(), message, "sha256").hex()


def basic(header: str) -> str:
    """Return USER:PASSWORD of an Authorization header, empty if it has none."""
    scheme, _, encoded = header.partition(" ")
    try:
        return b64decode(encoded, validate=True).decode() if scheme.lower() == "basic" else ""
    except (ValueError, binascii.Error):
        return ""
