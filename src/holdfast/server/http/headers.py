"""The headers of a call, looked up by name without reading the others."""

from __future__ import annotations

from starlette.types import Scope

_KEPT = "holdfast.headers"


def header(scope: Scope, name: bytes) -> str | None:
    """Return a header by its name in lower case; of several, the first."""
    value = headers(scope).get(name)
    return None if value is None else value.decode("latin-1")


def headers(scope: Scope) -> dict[bytes, bytes]:
    """Return the headers of a call by their names in lower case; of several, the first."""
    found: dict[bytes, bytes] | None = scope.get(_KEPT)
    if found is None:
        found = scope[_KEPT] = dict(reversed(scope["headers"]))
    return found
