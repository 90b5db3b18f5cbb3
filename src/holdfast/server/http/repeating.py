"""The header `Idempotency-Key`: a call that is repeated with the same key gets the first answer."""

from __future__ import annotations

import contextlib
from contextlib import AbstractContextManager
from typing import Any

from holdfast.model import bounds, checks
from holdfast.server.http.call import Call
from holdfast.server.http.headers import header
from holdfast.store.repeats import repeatable

NAME = "Idempotency-Key"
_NAME = NAME.lower().encode()

#: The header in the OpenAPI document.
PARAMETER: dict[str, Any] = {
    "name": NAME,
    "in": "header",
    "required": False,
    "description": "Your name for the call: repeated with it within a minute, the call gets the "
    "first answer and changes nothing.",
    "schema": {"type": "string", "minLength": 1, "maxLength": bounds.ID_CHARS},
}


def recognised(call: Call) -> AbstractContextManager[None]:
    """Make what a call does recognisable, if its route takes a key and its caller gives one."""
    key = header(call.request.scope, _NAME) if call.route.takes_key else None
    if key is None:
        return contextlib.nullcontext()
    checks.text(NAME, key, bounds.ID_CHARS, empty=False)
    # Other callers have keys of their own.
    return repeatable(f"{call.identity.key or ''}|{key}")
