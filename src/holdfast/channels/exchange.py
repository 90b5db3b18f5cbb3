"""What goes over HTTP: webhooks and their answers, calls of providers and their responses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
_SECOND_MS = 1_000
#: No service is obeyed for longer than this.
_LONGEST_PAUSE_MS = 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A call that claims to come from a provider."""

    method: str = "POST"
    #: As the caller knows it.
    url: str = ""
    #: Names in lower case.
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes = field(default=b"", repr=False)
    #: When it arrived, in seconds.
    at_s: float = 0.0

    def header(self, name: str) -> str:
        """Return a header, empty if it is absent."""
        return self.headers.get(name, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to a webhook."""

    body: bytes = b""
    content_type: str = JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A POST to a provider."""

    url: str = field(repr=False)
    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    content_type: str = JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What a provider answered; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    def decoded(self) -> dict[str, Any]:
        """Return the body if it is a JSON object, else an empty one."""
        try:
            value = msgspec.json.decode(self.body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}


def retry_after_ms(value: object) -> int | None:
    """Return how long to wait, from a number of seconds; None if it is not one."""
    try:
        seconds = float(str(value))
    except ValueError:
        return None
    if not 0 <= seconds < float("inf"):
        return None
    return min(int(seconds * _SECOND_MS), _LONGEST_PAUSE_MS)
