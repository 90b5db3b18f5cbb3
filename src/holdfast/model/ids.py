"""Ids, minted by the caller so that every call is safe to send twice."""

from __future__ import annotations

import hashlib
import secrets
import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_TIME_CHARS = 9
_RANDOM_BITS = 55


def _encode(value: int, length: int) -> str:
    chars = []
    for _ in range(length):
        value, digit = divmod(value, 32)
        chars.append(_ALPHABET[digit])
    return "".join(reversed(chars))


def new_id() -> str:
    """Mint a 20-character id that sorts by time, roughly.

    The time in it is a convenience for people; order and age come from the store's clock.
    """
    moment = _encode(time.time_ns() // 1_000_000, _TIME_CHARS)
    return moment + _encode(secrets.randbits(_RANDOM_BITS), 11)


def id_of_key(tenant: str, key: str) -> str:
    """Return the id that an idempotency key stands for.

    The same key always means the same id, so the execution itself is the memory of the key.
    """
    digest = hashlib.blake2b(f"{tenant}\0{key}".encode(), digest_size=16).digest()
    return "k" + _encode(int.from_bytes(digest, "big") >> 3, 25)
