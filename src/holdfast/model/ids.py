"""Ids; the caller mints them, so that every call is safe to send twice."""

from __future__ import annotations

import functools
import hashlib
import os
import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
#: Two characters for each ten bits: every call mints an id, so a table is worthwhile.
_PAIRS = [a + b for a in _ALPHABET for b in _ALPHABET]
_TEN_BITS = (1 << 10) - 1
#: For each byte a character, each as often as the others.
_CHARACTERS = bytes(ord(_ALPHABET[byte % len(_ALPHABET)]) for byte in range(256))
_HALF = 10
#: Second halves of ids, made many at a time: asking the system for chance takes longer than an id.
_halves: list[str] = []
_HALVES = 256
# A forked process would mint the ids of its parent.
os.register_at_fork(after_in_child=_halves.clear)


def _encode(value: int, pairs: int) -> str:
    return "".join([_PAIRS[value >> 10 * n & _TEN_BITS] for n in range(pairs - 1, -1, -1)])


def new_id() -> str:
    """Mint a 20-character id that sorts roughly by time.

    The time in it is for people only; order and age come from the store's clock.
    """
    try:
        half = _halves.pop()
    except IndexError:
        half = _make_halves()
    return _time(time.time_ns() // 1_000_000) + half


def _make_halves() -> str:
    """Return the second half of an id, and keep others for the next ones."""
    text = os.urandom(_HALVES * _HALF).translate(_CHARACTERS).decode()
    first, *others = [text[at : at + _HALF] for at in range(0, len(text), _HALF)]
    _halves.extend(others)
    return first


@functools.lru_cache(2)
def _time(ms: int) -> str:
    """Return the first half of an id, which those of one moment share."""
    return _encode(ms, 5)


def time_of(new: str) -> int:
    """Return when an id of `new_id` was minted, in ms by the clock of its process."""
    number = 0
    for character in new[:10]:
        number = number << 5 | _ALPHABET.index(character)
    return number


def id_of_key(tenant: str, key: str) -> str:
    """Return the id that an idempotency key stands for.

    The same key always gives the same id, so the execution itself remembers the key.
    """
    digest = hashlib.blake2b(f"{tenant}\0{key}".encode(), digest_size=15).digest()
    return "k" + _encode(int.from_bytes(digest, "big"), 12)


@functools.lru_cache(4096)
def session_id(key: bytes) -> str:
    """Return the id of the session with this key."""
    digest = hashlib.blake2b(key, digest_size=15, person=b"session").digest()
    return "s" + _encode(int.from_bytes(digest, "big"), 12)
