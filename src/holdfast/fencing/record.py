"""The lease record: who may write, under which token, as JSON in one object.

The names `database_key, holder_id, term, generation, acquired_at_ms, expires_at_ms` come from older
writers of such records, whose numbers may be doubles and which have no term.
"""

from __future__ import annotations

from typing import Any

import msgspec

from holdfast.errors import InvalidRecord
from holdfast.model import bounds
from holdfast.model.writer_leases import BASE_TERM, LARGEST, LeaseRecord, PastHolder


def parse(body: bytes, where: str) -> LeaseRecord:
    """Decode a record; raises InvalidRecord for anything that is not one."""
    values = document(body, where)
    read = _Reader(values, where)
    acquired, expires = read.number("acquired_at_ms", 0), read.number("expires_at_ms", 0)
    legacy_ttl = min(max(expires - acquired, 0), bounds.LEASE_MAX_MS)
    return LeaseRecord(
        database_key=read.text("database_key"),
        holder_id=read.text("holder_id"),
        incarnation=read.text("incarnation", ""),
        term=read.number("term", 1, BASE_TERM),
        generation=read.number("generation", 1),
        nonce=read.text("nonce", ""),
        acquired_at_ms=acquired,
        expires_at_ms=expires,
        ttl_ms=read.number("ttl_ms", 0, legacy_ttl),
        margin_ms=read.number("margin_ms", 0, 0),
        released=read.flag("released"),
        successor=read.text("successor", "") or None,
        holders=read.holders(),
    )


def document(body: bytes, where: str) -> dict[str, Any]:
    """Decode a JSON object; raises InvalidRecord."""
    try:
        values = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidRecord(f"{where} is not JSON ({error})", object=where) from error
    if not isinstance(values, dict):
        raise InvalidRecord(f"{where} is not a JSON object", object=where)
    return values


class _Reader:
    """Reads checked values out of a JSON object."""

    def __init__(self, values: dict[str, Any], where: str) -> None:
        self._values = values
        self._where = where

    def _wrong(self, name: str) -> InvalidRecord:
        message = f"{self._where}: {name} is missing or invalid"
        return InvalidRecord(message, object=self._where, field=name)

    def text(self, name: str, default: str | None = None) -> str:
        value = self._values.get(name)
        value = default if value is None else value
        if not isinstance(value, str):
            raise self._wrong(name)
        return value

    def number(self, name: str, least: int, default: int | None = None) -> int:
        value = self._values.get(name)
        value = default if value is None else value
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= LARGEST:
            raise self._wrong(name)
        return value

    def flag(self, name: str) -> bool:
        value = self._values.get(name, False)
        if not isinstance(value, bool):
            raise self._wrong(name)
        return value

    def holders(self) -> tuple[PastHolder, ...]:
        try:
            return msgspec.convert(self._values.get("holders") or (), tuple[PastHolder, ...])
        except msgspec.ValidationError as error:
            raise self._wrong("holders") from error
