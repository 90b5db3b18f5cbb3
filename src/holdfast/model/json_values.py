"""Compares payloads by value, so that the same JSON written differently is recognised as equal.

Space, the order of members, escapes in strings and the notation of numbers do not matter: 1, 1.0
and 1e0 are one number. Numbers are compared exactly, as written in decimal. A payload that is not
JSON, or has a duplicate member, equals only the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from typing import Any, NoReturn

import msgspec

_NUMBER = 1


def digest(payload: bytes) -> str:
    """Return a digest that payloads of the same value share."""
    return hashlib.sha256(canonical(payload)).hexdigest()


def canonical(payload: bytes) -> bytes:
    """Return bytes that payloads of the same value share; not meant to be read."""
    try:
        value = _decoder.decode(str(payload, "utf-8"))
        return b"json" + msgspec.msgpack.encode(value, order="deterministic")
    except (ValueError, ArithmeticError, RecursionError):
        return b"bytes" + payload


def _number(text: str) -> msgspec.msgpack.Ext:
    sign, digits, exponent = Decimal(text).as_tuple()
    significant = "".join(map(str, digits)).lstrip("0")
    short = significant.rstrip("0")
    if not short:
        return msgspec.msgpack.Ext(_NUMBER, b"0")
    exponent = int(exponent) + len(significant) - len(short)
    return msgspec.msgpack.Ext(_NUMBER, f"{'-' if sign else ''}{short}e{exponent}".encode())


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(members)
    if len(value) < len(members):
        raise ValueError("a member occurs twice")
    return value


def _constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


_decoder = json.JSONDecoder(
    parse_int=_number,
    parse_float=_number,
    parse_constant=_constant,
    object_pairs_hook=_object,
)
