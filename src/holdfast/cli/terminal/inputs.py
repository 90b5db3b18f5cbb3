"""Parse command-line values: JSON, durations, times, pairs. Errors name the option."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from holdfast.errors import InvalidInput
from holdfast.model import bounds

_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)?")


def payload(text: str, *, raw: bool = False) -> bytes:
    """Return an input: the text itself, `@FILE`, or `-` for stdin. It must be JSON unless `raw`."""
    data = _read(text)
    if not raw:
        try:
            msgspec.json.decode(data)
        except msgspec.DecodeError as error:
            message = f"input: is not JSON ({error})"
            raise InvalidInput(message, field="input") from error
        except UnicodeDecodeError as error:
            raise InvalidInput("input: is not UTF-8", field="input") from error
    return data


def secret(field: str, text: str) -> str:
    """Return a secret from `@FILE`, `-` (stdin) or the text itself, stripped of whitespace."""
    try:
        return _read(text).decode("ascii").strip()
    except UnicodeDecodeError:
        raise InvalidInput(f"{field}: is not text", field=field) from None


def _read(text: str) -> bytes:
    if text == "-":
        return sys.stdin.buffer.read()
    if not text.startswith("@"):
        return text.encode("utf-8", "surrogateescape")
    try:
        return Path(text[1:]).read_bytes()
    except OSError as error:
        message = f"input: cannot read {text[1:]} ({error.strerror})"
        raise InvalidInput(message, field="input") from error


def duration_ms(field: str, text: str) -> int:
    """Return a duration in ms. The default unit is seconds; ms, s, m, h and d are accepted."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        message = f"{field}: must be a duration such as 30, 1.5s, 500ms, 10m, 2h or 1d"
        raise InvalidInput(message, field=field)
    number, unit = match.groups()
    milliseconds = round(float(number) * _UNITS_MS[unit or "s"])
    if milliseconds > bounds.DURATION_MS:
        raise InvalidInput(f"{field}: is longer than a hundred years", field=field)
    return milliseconds


def optional_ms(field: str, text: str | None) -> int | None:
    """Return a duration in ms, or None."""
    return None if text is None else duration_ms(field, text)


def moment(field: str, text: str | None) -> datetime | None:
    """Return a time from a date and time, local unless it has a zone, or an age such as `2h`."""
    if text is None:
        return None
    if _DURATION.fullmatch(text.strip()):
        return datetime.now(UTC) - timedelta(milliseconds=duration_ms(field, text))
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        message = f"{field}: must be a time such as 2026-01-31T12:00, or an age such as 2h"
        raise InvalidInput(message, field=field) from error


def pairs(field: str, texts: Sequence[str]) -> dict[str, str]:
    """Return `name=value` pairs as a mapping."""
    mapping = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator:
            raise InvalidInput(f"{field}: must be NAME=VALUE, got {text!r}", field=field)
        mapping[name] = value
    return mapping


def names(texts: Sequence[str]) -> tuple[str, ...]:
    """Return names from repeated options or comma-separated lists."""
    return tuple(name.strip() for text in texts for name in text.split(",") if name.strip())
