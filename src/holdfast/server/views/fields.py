"""Types of fields that several bodies share; their bounds are in the OpenAPI document.

The rules themselves are those of `holdfast.model.checks`, which every entry uses.
"""

from __future__ import annotations

import base64
import binascii
from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from holdfast.errors import InvalidInput
from holdfast.model import bounds, checks
from holdfast.model.executions import Lease

_NAME = "^[A-Za-z0-9_.:@-]+$"

Name = Annotated[str, Meta(min_length=1, max_length=bounds.NAME_CHARS, pattern=_NAME)]
#: A budget or quota: NAME, or TENANT/NAME, for keys that belong to no tenant.
LimitName = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=2 * bounds.NAME_CHARS + 1,
        pattern="^([A-Za-z0-9_.:@-]+/)?[A-Za-z0-9_.:@-]+$",
    ),
]
#: A tenant, or * for all tenants that the key may see.
Tenants = Annotated[
    str, Meta(min_length=1, max_length=bounds.NAME_CHARS, pattern=r"^(\*|[A-Za-z0-9_.:@-]+)$")
]
Kind = Annotated[
    str, Meta(min_length=1, max_length=bounds.NAME_CHARS, pattern="^[A-Za-z0-9_.:@/-]+$")
]
Id = Annotated[str, Meta(min_length=1, max_length=bounds.ID_CHARS, pattern="^[A-Za-z0-9_.:@/~-]+$")]
#: An execution or graph: an id of the caller's tenant, or TENANT=ID.
ScopedId = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=bounds.NAME_CHARS + 1 + bounds.ID_CHARS,
        pattern="^([A-Za-z0-9_.:@-]+=)?[A-Za-z0-9_.:@/~-]+$",
    ),
]
Key = Annotated[str, Meta(min_length=1, max_length=bounds.ID_CHARS)]
DurationMs = Annotated[int, Meta(ge=0, le=bounds.DURATION_MS)]
PositiveMs = Annotated[int, Meta(ge=1, le=bounds.DURATION_MS)]
LeaseMs = Annotated[int, Meta(ge=bounds.LEASE_MIN_MS, le=bounds.LEASE_MAX_MS)]
Priority = Annotated[int, Meta(ge=-bounds.PRIORITY, le=bounds.PRIORITY)]
Reason = Annotated[str, Meta(max_length=bounds.REASON_CHARS)]
StepName = Annotated[str, Meta(min_length=1, max_length=bounds.STEP_NAME_CHARS)]
Traceparent = Annotated[
    str, Meta(pattern="^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$", max_length=55)
]
Moment = Annotated[datetime, Meta(tz=True)]
PageLimit = Annotated[int, Meta(ge=1, le=bounds.PAGE_ITEMS)]
#: Some contain the name of the last item with its tenant, or its id.
Cursor = Annotated[str, Meta(max_length=2 * bounds.ID_CHARS)]
WaitMs = Annotated[int, Meta(ge=0, le=60_000)]
Lanes = Annotated[tuple[Name, ...], Meta(min_length=1, max_length=bounds.LANES)]
Capabilities = Annotated[tuple[Name, ...], Meta(max_length=bounds.CAPABILITIES)]
Kinds = Annotated[tuple[Kind, ...], Meta(max_length=bounds.KINDS)]
Slots = Annotated[int, Meta(ge=1, le=bounds.SLOTS)]
Base64 = Annotated[str, Meta(extra_json_schema={"contentEncoding": "base64"})]


class Body(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A request body. Unknown fields are refused, and values are not coerced."""


class Query(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The parameters of a query."""


class View(msgspec.Struct, kw_only=True):
    """A reply."""


class LeaseBody(Body):
    """A lease, as the claim returned it."""

    id: Name
    epoch: Annotated[int, Meta(ge=1)]
    attempt: Annotated[int, Meta(ge=0)]
    #: As the claim returned it; it has no effect.
    expires_at: str | None = None

    def lease(self) -> Lease:
        """Return the lease."""
        return Lease.checked(self.id, self.epoch, self.attempt)


def payload(field: str, value: Raw | UnsetType, encoded: str | UnsetType) -> bytes:
    """Return the bytes of a payload: JSON as it was sent, or decoded base64."""
    if encoded is UNSET:
        return b"null" if value is UNSET else checks.payload(field, bytes(value))
    if value is not UNSET:
        message = f"{field}_base64: cannot be combined with {field}"
        raise InvalidInput(message, field=f"{field}_base64")
    try:
        return checks.payload(field, base64.b64decode(encoded, validate=True))
    except (binascii.Error, ValueError) as error:
        name = f"{field}_base64"
        raise InvalidInput(f"{name}: is not base64", field=name) from error
