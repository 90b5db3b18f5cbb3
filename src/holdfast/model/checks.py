"""One validator for each kind of value from outside; every entry point uses these.

Each returns the value, or raises InvalidInput that names the field. Values are never clamped,
coerced or trimmed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, NoReturn, TypeVar

import msgspec

from holdfast.errors import InvalidInput, TooLarge
from holdfast.model import bounds
from holdfast.model.names import DEFAULT_TENANT, ID_SEPARATOR, is_of_key, parse_id

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")

_NAME = re.compile(r"[A-Za-z0-9_.:@-]+\Z")
_KIND = re.compile(r"[A-Za-z0-9_.:@/-]+\Z")
_ID = re.compile(r"[A-Za-z0-9_.:@/~-]+\Z")
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}\Z")
_PRINTABLE = re.compile(r"[^\x00-\x1f\x7f]*\Z")


def refuse(field: str, problem: str, value: object) -> NoReturn:
    """Raise InvalidInput that names the field and shows the value, shortened."""
    shown = repr(value)
    if len(shown) > 80:  # noqa: PLR2004 - one line of a terminal
        shown = shown[:77] + "..."
    message = f"{field}: {problem}, got {shown}"
    raise InvalidInput(message, field=field)


def _pattern(field: str, value: Any, pattern: re.Pattern[str], most: int, allowed: str) -> str:
    if not isinstance(value, str):
        refuse(field, "must be a string", value)
    if not value or len(value) > most:
        refuse(field, f"must have 1 to {most} characters", value)
    if not pattern.match(value):
        refuse(field, f"may only contain {allowed}", value)
    return value


def name(field: str, value: Any) -> str:
    """Check a tenant, lane, capability, tag name or worker."""
    return _pattern(field, value, _NAME, bounds.NAME_CHARS, "A-Z a-z 0-9 _ . : @ -")


def queue(field: str, value: Any) -> str:
    """Check the name of a message queue: NAME, or TENANT/NAME for a tenant other than default."""
    tenant, slash, rest = value.partition("/") if isinstance(value, str) else ("", "", "")
    if not slash:
        return name(field, value)
    if name(field, tenant) == DEFAULT_TENANT:
        refuse(field, "of the tenant default is named without it", value)
    name(field, rest)
    return str(value)


def limit(field: str, value: Any) -> str:
    """Check the name of a budget or quota: NAME for the tenant of the call, or TENANT/NAME."""
    tenant, slash, rest = value.partition("/") if isinstance(value, str) else ("", "", "")
    if not slash:
        return name(field, value)
    name(field, tenant)
    name(field, rest)
    return str(value)


def stored_schedule(field: str, value: Any) -> str:
    """Check the stored id of a schedule: ID, or TENANT=ID."""
    text(field, value, 2 * bounds.NAME_CHARS + 1)
    for part in parse_id(value):
        name(field, part)
    return str(value)


def kind(field: str, value: Any) -> str:
    """Check the kind of an execution."""
    return _pattern(field, value, _KIND, bounds.NAME_CHARS, "A-Z a-z 0-9 _ . : @ / -")


def execution_id(field: str, value: Any) -> str:
    """Check the id of an execution or graph: ID, or TENANT=ID for a tenant other than default."""
    if isinstance(value, str) and len(value) <= bounds.ID_CHARS and _ID.match(value):
        return value
    own = value
    if isinstance(value, str) and ID_SEPARATOR in value:
        tenant, own = parse_id(value)
        if name(field, tenant) == DEFAULT_TENANT:
            refuse(field, "of the tenant default is named without it", value)
    own_id(field, own)
    return str(value)


def own_id(field: str, value: Any) -> str:
    """Check an id without a tenant."""
    return _pattern(field, value, _ID, bounds.ID_CHARS, "A-Z a-z 0-9 _ . : @ / ~ -")


def id_of(field: str, value: Any, tenant: str) -> str:
    """Check the id of a new resource of a tenant; a full id must name that tenant."""
    execution_id(field, value)
    if ID_SEPARATOR in value and parse_id(value)[0] != tenant:
        refuse(field, f"must not name another tenant than {tenant}", value)
    if is_of_key(value):
        # Otherwise one tenant could take, or discover, the idempotency keys of another.
        refuse(field, "has the form of ids that stand for idempotency keys", value)
    return str(value)


def traceparent(field: str, value: Any) -> str:
    """Check a traceparent, as the W3C defines it."""
    return _pattern(field, value, _TRACEPARENT, 55, "VERSION-TRACE-SPAN-FLAGS in hex")


def text(field: str, value: Any, most: int, *, empty: bool = True) -> str:
    """Check free text on one line: no control characters."""
    if not isinstance(value, str):
        refuse(field, "must be a string", value)
    if len(value) > most or not (value or empty):
        refuse(field, f"must have {0 if empty else 1} to {most} characters", value)
    if value.isascii() and value.isprintable():
        return value
    if not _PRINTABLE.match(value):
        refuse(field, "must not contain control characters", value)
    try:
        value.encode()
    except UnicodeEncodeError:
        refuse(field, "must be valid Unicode", value)
    return value


def integer(field: str, value: Any, least: int, most: int) -> int:
    """Check an integer; booleans and floats are refused."""
    if not isinstance(value, int) or isinstance(value, bool):
        refuse(field, "must be an integer", value)
    if not least <= value <= most:
        refuse(field, f"must be between {least} and {most}", value)
    return value


def lease_ms(field: str, value: Any) -> int:
    """Check how long a lease lasts."""
    return integer(field, value, bounds.LEASE_MIN_MS, bounds.LEASE_MAX_MS)


def number(field: str, value: Any, least: float, most: float) -> float:
    """Check a finite number."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        refuse(field, "must be a number", value)
    if not least <= value <= most:
        refuse(field, f"must be a finite number between {least} and {most}", value)
    return value


def one_of(field: str, value: Any, options: Iterable[str]) -> str:
    """Check that a value is one of a few words."""
    if not isinstance(value, str) or value not in options:
        refuse(field, f"must be one of {', '.join(options)}", value)
    return value


def flag(field: str, value: Any) -> bool:
    """Check a boolean."""
    if not isinstance(value, bool):
        refuse(field, "must be true or false", value)
    return value


def instant(field: str, value: Any) -> datetime:
    """Check a moment: an aware datetime."""
    if not isinstance(value, datetime):
        refuse(field, "must be a datetime", value)
    if value.tzinfo is None:
        refuse(field, "must have a time zone", value)
    return value


def instance(field: str, value: Any, kind: type[T]) -> T:
    """Check that a value is an instance of a type."""
    if not isinstance(value, kind):
        refuse(field, f"must be a {kind.__name__}", value)
    return value


def payload(field: str, value: Any, most: int = bounds.PAYLOAD_BYTES) -> bytes:
    """Check opaque bytes."""
    if not isinstance(value, bytes):
        refuse(field, "must be bytes", value)
    if len(value) > most:
        message = f"{field}: {len(value)} bytes are over the limit of {most}"
        raise TooLarge(message, field=field, limit=most)
    return value


def json_object(field: str, value: Any, most: int) -> bytes:
    """Check the bytes of a JSON object."""
    encoded = payload(field, value, most)
    try:
        decoded = msgspec.json.decode(encoded)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(f"{field}: must be JSON ({error})", field=field) from error
    if not isinstance(decoded, dict):
        refuse(field, "must be a JSON object", decoded)
    return encoded


def names(
    field: str,
    value: Any,
    most: int,
    *,
    least: int = 0,
    check: Callable[[str, Any], str] = name,
) -> tuple[str, ...]:
    """Check a set of names; returns it sorted and without duplicates."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        refuse(field, "must be a list of names", value)
    unique = sorted({check(f"{field}[{i}]", item) for i, item in enumerate(value)})
    if not least <= len(unique) <= most:
        refuse(field, f"must have {least} to {most} names", value)
    return tuple(unique)


def kinds(field: str, value: Any) -> tuple[str, ...] | None:
    """Check the kinds of a worker; None means every kind."""
    return None if value is None else names(field, value, bounds.KINDS, check=kind)


def tags(field: str, value: Any) -> dict[str, str]:
    """Check tags: names with short values."""
    if not isinstance(value, Mapping):
        refuse(field, "must be a mapping of names to strings", value)
    if len(value) > bounds.TAGS:
        refuse(field, f"must have at most {bounds.TAGS} tags", value)
    return {
        name(f"{field} name", key): text(
            f"{field}[{key}]", item, bounds.TAG_VALUE_CHARS, empty=False
        )
        for key, item in value.items()
    }


def mapping(field: str, value: Mapping[K, V]) -> Mapping[K, V]:
    """Check that a value is a mapping."""
    if not isinstance(value, Mapping):
        refuse(field, "must be a mapping", value)
    return value


def known_fields(field: str, value: Mapping[str, Any], allowed: Iterable[str]) -> None:
    """Refuse unknown fields."""
    for unknown in sorted(set(value) - set(allowed)):
        refuse(f"{field}.{unknown}", "is not a known field", value[unknown])
