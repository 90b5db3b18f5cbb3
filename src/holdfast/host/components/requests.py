"""What components can ask of the host: one JSON object per request.

WASM components pass it through memory, Python components as a line. The answer is `{"ok": VALUE}`
or `{"error": {"code", "message", "retryable"}}`.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

#: How large a request or an answer may be.
REQUEST_BYTES = 1_048_576
Key = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Version = Annotated[int, msgspec.Meta(ge=0)]
Ttl = Annotated[int, msgspec.Meta(ge=1, le=31_536_000_000)]


class _Request(msgspec.Struct, forbid_unknown_fields=True, tag_field="call"):
    """A request; the field `call` says which."""


class StateGet(_Request, tag="state.get"):
    """Read a value of the tenant's state."""

    key: Key


class StateSet(_Request, tag="state.set"):
    """Write a value, if it still has a version; 0 means that there is none yet."""

    key: Key
    value: Any
    version: Version | None = None
    ttl_ms: Ttl | None = None


class StateRemove(_Request, tag="state.remove"):
    """Remove a value, if it still has a version."""

    key: Key
    version: Version | None = None


class SecretGet(_Request, tag="secret.get"):
    """Read a secret that the pack declares."""

    name: str


class HttpSend(_Request, tag="http.send"):
    """Call a web server that the pack allows."""

    method: str
    url: str
    headers: dict[str, str] = {}
    #: The names of secrets, by header: the component does not see them.
    secret_headers: dict[str, str] = {}
    json: Any = msgspec.UNSET


class Log(_Request, tag="log"):
    """Write a line to the log of the host."""

    message: str
    level: Annotated[str, msgspec.Meta(pattern="^(debug|info|warning|error)$")] = "info"


class Emit(_Request, tag="emit"):
    """Reply with an activity, as `emit` nodes do."""

    activity: dict[str, Any]


Request = StateGet | StateSet | StateRemove | SecretGet | HttpSend | Log | Emit
_DECODER: msgspec.json.Decoder[Request] = msgspec.json.Decoder(Request)


def decode(data: bytes) -> Request:
    """Return a request; raises msgspec.DecodeError, RecursionError."""
    return _DECODER.decode(data)
