"""References: the store keeps one in place of a large input or result that is stored elsewhere.

Payloads are opaque, so a reference starts with bytes that no payload from outside may start with.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass

import msgspec

from holdfast.errors import InvalidRecord
from holdfast.model import checks, json_values

_MAGIC = b"\x00holdfast-away\x01"
#: The first bytes of the two forms of a sealed payload (model/sealing.py).
SEALED = b"\x00hfs\x01"
TOKEN = b"\x01hf1:"
#: Smaller payloads stay in the store, regardless of the setting.
LEAST_BYTES = 1 << 10


@dataclass(frozen=True, slots=True)
class Reference:
    """The place of a payload, and the digest of its bytes."""

    key: str
    size: int
    sha256: str
    #: The digest of its value, for an input that may have to be compared.
    value: str | None = None

    def encode(self) -> bytes:
        """Return the bytes to store instead of the payload."""
        return _MAGIC + msgspec.json.encode(asdict(self))


def is_reference(payload: bytes) -> bool:
    """Whether these bytes are a reference."""
    return payload.startswith(_MAGIC)


def check_is_none(field: str, payload: bytes) -> None:
    """Refuse a payload from outside that looks like a reference or a sealed payload."""
    if not payload.startswith(_MARKS):
        return
    for mark, what in _RESERVED:
        if payload.startswith(mark):
            problem = f"must not start with the reserved marker of {what} payloads"
            checks.refuse(field, problem, payload)


_RESERVED = ((_MAGIC, "offloaded"), (SEALED, "sealed"), (TOKEN, "sealed"))
_MARKS = tuple(mark for mark, _ in _RESERVED)


def decode(payload: bytes) -> Reference:
    """Decode a reference; raises InvalidRecord."""
    try:
        return msgspec.json.decode(payload[len(_MAGIC) :], type=Reference)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise InvalidRecord(f"a reference to a payload is damaged ({error})") from error


def reference_to(tenant: str, payload: bytes, value: str | None = None) -> Reference:
    """Return the reference to a payload: equal payloads of a tenant are stored once."""
    digest = hashlib.sha256(payload).hexdigest()
    return Reference(prefix_of(tenant) + digest, len(payload), digest, value)


def prefix_of(tenant: str) -> str:
    """Return the prefix of the keys of a tenant's payloads."""
    return f"payloads/{tenant}/"


def value_of(payload: bytes) -> str:
    """Return a digest of a payload's value, the same wherever it is stored."""
    if is_reference(payload):
        reference = decode(payload)
        return reference.value or reference.sha256
    return json_values.digest(payload)
