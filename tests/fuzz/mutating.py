"""Mutations of inputs: bytes and words changed, cut, repeated, and parts of others spliced in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random
from typing import Any

#: What parsers trip over.
WORDS = (
    *(b"", b"\0", b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\r\n", b"\\ud800", b"\\u0000", b"%00"),
    *(b"%", b"%2F", b"..", b"/", b"//", b"~", b"~~", b".", b"-", b"-1", b"0", b"1e999", b"NaN"),
    *(
        b"9" * 30,
        b"9" * 5_000,
        b"0.1",
        b"null",
        b"true",
        b"{}",
        b"[]",
        b'""',
        b'"',
        b"{",
        b"[",
        b"(",
    ),
    *(b"[" * 2_000, b'{"a":' * 2_000, b"(" * 2_000, b"!" * 300, b"a" * 5_000, b"\xd9\xa3", b"$ref"),
    *(
        b"#",
        b"^(a+)+$",
        b"(?=a)",
        b"{0,4294967295}",
        b"payload",
        b".map(x, ",
        b".all(x, ",
        b"==",
        b"&&",
        b"1/0",
        b"'",
    ),
)
#: What stands where something else belongs.
VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 1.5, 1e308, 10**30, 10**400, "", "a", "\0", "\ud800", "a" * 5_000, [], {}),
    *(
        [[]],
        [None],
        {"a": None},
        {"": ""},
        ["a"] * 500,
        {"$ref": "#"},
        "#/a",
        "^(a|a)*$",
        "a{0,4294967295}",
        "$",
    ),
)
_LONGEST = 40_000


def mutated(chance: Random, corpus: Sequence[bytes]) -> bytes:
    """Return one of the corpus with a few changes; now and then as it is."""
    chosen = chance.choice(corpus)
    if chosen[:1] in {b"{", b"["} and chance.random() < 0.5:
        return _reshaped(chance, chosen)
    return _damaged(chance, chosen, corpus)


def _reshaped(chance: Random, data: bytes) -> bytes:
    """Change values of JSON, which stays JSON."""
    try:
        value = json.loads(data)
        for _ in range(chance.choice((1, 1, 2, 3))):
            value = _with_another(chance, value)
        return json.dumps(value).encode()[:_LONGEST]
    except (ValueError, RecursionError):
        return data


def _with_another(chance: Random, value: Any) -> Any:
    """Return a value in which one part, or all of it, is another."""
    if not value or not isinstance(value, dict | list) or chance.random() < 0.2:
        return chance.choice(VALUES)
    if isinstance(value, list):
        at = chance.randrange(len(value))
        return [*value[:at], _with_another(chance, value[at]), *value[at + 1 :]]
    name = chance.choice(list(value))
    kept = {key: part for key, part in value.items() if key != name or chance.random() < 0.8}
    return {**kept, chance.choice((name, name, name, "a")): _with_another(chance, value[name])}


def _damaged(chance: Random, chosen: bytes, corpus: Sequence[bytes]) -> bytes:
    """Change bytes."""
    data = bytearray(chosen)
    for _ in range(chance.choice((0, 1, 1, 1, 2, 2, 3, 5))):
        at = chance.randint(0, len(data))
        until = min(len(data), at + chance.choice((0, 1, 1, 2, 4, 16)))
        match chance.randrange(6):
            case 0:
                data[at:until] = chance.choice(WORDS)
            case 1:
                data[at:until] = chance.randbytes(until - at)
            case 2:
                del data[at:until]
            case 3:
                other = chance.choice(corpus)
                begin = chance.randint(0, len(other))
                data[at:until] = other[begin : begin + chance.choice((1, 8, 64, 1_000))]
            case 4:
                data[at:until] = bytes(data[at:until]) * chance.choice((2, 3, 50))
            case _ if at < len(data):
                data[at] ^= 1 << chance.randrange(8)
    return bytes(data[:_LONGEST])
