"""Functions that expressions of flows can call, besides those of CEL itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

MAX_TEXT = 262_144
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|us|ns|w|d|h|m|s)")
_UNITS = {
    "w": 604_800.0,
    "d": 86_400.0,
    "h": 3_600.0,
    "m": 60.0,
    "s": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "ns": 1e-9,
}


@dataclass(frozen=True, slots=True)
class Function:
    """A function: the types of its arguments, the first of which may be a method's target.

    Types are those of types.py in this package; `any` fits all. `own` is set for a function that
    the library does not have.
    """

    takes: tuple[str, ...]
    returns: str
    own: Callable[..., Any] | None = None
    optional: int = 0
    as_method: bool = True
    as_function: bool = True


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} takes text, not {_word(value)}")
    return value


def _word(value: Any) -> str:
    words = ((bool, "a boolean"), (int | float, "a number"), (dict, "a map"), (list, "a list"))
    return next((word for kind, word in words if isinstance(value, kind)), "null")


def _lower(text: Any) -> str:
    return _text("lower", text).lower()


def _upper(text: Any) -> str:
    return _text("upper", text).upper()


def _trim(text: Any) -> str:
    return _text("trim", text).strip()


def _pieces(text: Any, separator: Any) -> list[str]:
    separator = _text("split", separator)
    return _text("split", text).split(separator) if separator else list(text)


def _join(items: Any, separator: Any = "") -> str:
    if not isinstance(items, list):
        raise TypeError(f"join takes a list, not {_word(items)}")
    joined = _text("join", separator).join([_text("join", item) for item in items])
    return _bounded(joined)


def _json(value: Any) -> str:
    return _bounded(msgspec.json.encode(plain(value)).decode())


def _bounded(text: str) -> str:
    if len(text) > MAX_TEXT:
        raise ValueError(f"the text has more than {MAX_TEXT} characters")
    return text


def _duration(text: Any) -> timedelta:
    """Read a duration such as `2d` or `1h30m`; the library knows no days."""
    rest = _text("duration", text).replace(" ", "")
    negative = rest.startswith("-")
    rest = rest.removeprefix("-")
    parts = _DURATION.findall(rest)
    if not parts or "".join(number + unit for number, unit in parts) != rest:
        raise ValueError(f"duration takes text such as '90s', '2d' or '1h30m', not '{text[:40]}'")
    seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    return timedelta(seconds=-seconds if negative else seconds)


def plain(value: Any) -> Any:
    """Return a value as JSON has it: times and durations become text."""
    if isinstance(value, datetime):
        text = value.astimezone(UTC).isoformat(timespec="milliseconds")
        return text.replace("+00:00", "Z").replace(".000Z", "Z")
    if isinstance(value, timedelta):
        return f"{value.total_seconds():.6f}".rstrip("0").rstrip(".") + "s"
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        if any(not isinstance(key, str) for key in value):
            raise TypeError("the keys of a map must be text")
        return {key: plain(item) for key, item in value.items()}
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float) and value - value == 0:
        return value
    raise TypeError(f"a value of type {type(value).__name__} has no JSON form")


_PART_OF_TIME = Function(("timestamp",), "int", as_function=False)

#: All there are. An expression that calls another one is refused.
FUNCTIONS: dict[str, Function] = {
    "size": Function(("sized",), "int"),
    "contains": Function(("string", "string"), "bool", as_function=False),
    "startsWith": Function(("string", "string"), "bool", as_function=False),
    "endsWith": Function(("string", "string"), "bool", as_function=False),
    "matches": Function(("string", "string"), "bool", as_function=False),
    "lower": Function(("string",), "string", _lower),
    "upper": Function(("string",), "string", _upper),
    "trim": Function(("string",), "string", _trim),
    "split": Function(("string", "string"), "list", _pieces),
    "join": Function(("list", "string"), "string", _join, optional=1),
    "json": Function(("any",), "string", _json),
    "duration": Function(("string",), "duration", _duration, as_method=False),
    "timestamp": Function(("string",), "timestamp", as_method=False),
    "string": Function(("any",), "string", as_method=False),
    "int": Function(("any",), "int", as_method=False),
    "double": Function(("any",), "double", as_method=False),
    "getFullYear": _PART_OF_TIME,
    "getMonth": _PART_OF_TIME,
    "getDayOfMonth": _PART_OF_TIME,
    "getDate": _PART_OF_TIME,
    "getDayOfWeek": _PART_OF_TIME,
    "getHours": _PART_OF_TIME,
    "getMinutes": _PART_OF_TIME,
    "getSeconds": _PART_OF_TIME,
}

#: Under another name, since the library would use its own function of the same name.
PREFIX = "hf_"
OWN: dict[str, Callable[..., Any]] = {
    PREFIX + name: function.own for name, function in FUNCTIONS.items() if function.own
}
