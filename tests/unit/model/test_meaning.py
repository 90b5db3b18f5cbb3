"""The same JSON written differently is the same value."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holdfast.model.json_values import canonical, digest

SAME = [
    (b'{"a": 1, "b": [true, null]}', b'{"b":[true,null],"a":1}'),
    (b" 7\n", b"7"),
    (b"1", b"1.0"),
    (b"100", b"1e2"),
    (b"-1.50", b"-15E-1"),
    (b"0", b"-0.0"),
    (b"0e99", b"0"),
    (b'"\\u00e9\\/"', '"é/"'.encode()),
    (b"12345678901234567890123", b"12345678901234567890123.0"),
    (b"1" + b"0" * 5000, b"1e5000"),
]
OTHER = [
    (b"1", b'"1"'),
    (b"1", b"true"),
    (b"null", b"false"),
    (b"[]", b"{}"),
    (b"[1,2]", b"[2,1]"),
    (b"9007199254740993", b"9007199254740992"),
    (b"12345678901234567890123", b"12345678901234567890124"),
    (b"0.1", b"0.10000000000000001"),
    (b"1e400", b"1e401"),
    (b"1", b"-1"),
    (b"1", b"10"),
    # What is no JSON, or only nearly, is equal to itself.
    (b"\xff", b"\xfe"),
    (b"NaN", b" NaN"),
    (b'{"a":1,"a":2}', b'{"a":2}'),
    (b'"\\ud800"', b' "\\ud800"'),
    (b"[" * 100_000, b" " + b"[" * 100_000),
    (b"\xef\xbb\xbf1", b"1"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_value(one: bytes, other: bytes) -> None:
    """However it is written."""
    assert canonical(one) == canonical(other)
    assert digest(one) == digest(other)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_another_value(one: bytes, other: bytes) -> None:
    """However alike."""
    assert canonical(one) != canonical(other)
    assert digest(one) != digest(other)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_what_is_written_otherwise_is_the_same(indent: int | None, *, ascii_only: bool) -> None:
    """Sorted or not, with space or without."""
    value: Any = {"ü": [1, 2.5, -3e-9, None, {"z": "\t", "a": []}], "": {"b": True, "a": 2**70}}
    plain = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    other = json.dumps(value, indent=indent, sort_keys=True, ensure_ascii=ascii_only)
    assert canonical(plain.encode()) == canonical(other.encode())
