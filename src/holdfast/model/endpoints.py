"""Endpoints: where the webhooks of a provider arrive, and for whom."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from holdfast.errors import InvalidInput
from holdfast.model import bounds, checks
from holdfast.model.names import DEFAULT_TENANT
from holdfast.model.session_keys import DEFAULT_ENV

#: Part of addresses, of session keys and of names of secrets: nothing in it needs an escape.
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*\Z")
_SECRET = re.compile(r"[a-z][a-z0-9_]*\Z")
DEFAULT_RATE = 100
#: The sender of the replies of all endpoints.
SENDER = "holdfast.channels"


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointRef:
    """Names an endpoint. Its id is unique in its env, as its address has no tenant."""

    id: str
    env: str = DEFAULT_ENV
    #: Whose it must be; None: of any tenant.
    tenant: str | None = None

    def __post_init__(self) -> None:
        check_id("id", self.id)
        checks.name("env", self.env)
        if self.tenant is not None:
            checks.name("tenant", self.tenant)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEndpoint:
    """An endpoint to create or replace."""

    id: str
    provider: str
    env: str = DEFAULT_ENV
    tenant: str = DEFAULT_TENANT
    #: The deployment that answers. Without one, host and path of a call decide.
    deployment: str | None = None
    #: A conversation of workers that answers instead.
    conversation: str | None = None
    #: Those of the provider.
    settings: Mapping[str, Any] = field(default_factory=dict)
    #: Values by name; those that are left out keep their value. They are never shown again.
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: The most messages per second and server; a burst may have twice as many.
    rate: int = DEFAULT_RATE

    def __post_init__(self) -> None:
        check_id("id", self.id)
        checks.name("env", self.env)
        checks.name("tenant", self.tenant)
        checks.name("provider", self.provider)
        if self.deployment is not None:
            checks.name("deployment", self.deployment)
        if self.conversation is not None:
            checks.kind("conversation", self.conversation)
            if self.deployment is not None:
                checks.refuse("conversation", "or deployment, and not both", self.conversation)
        checks.integer("rate", self.rate, 1, bounds.ENDPOINT_RATE)
        checks.mapping("settings", self.settings)
        for name in checks.mapping("secrets", self.secrets):
            if not isinstance(name, str) or not _SECRET.match(name):
                raise InvalidInput("secrets: a name is not valid", field="secrets")

    def packed_settings(self) -> bytes:
        """Return the settings as JSON; raises InvalidInput."""
        try:
            packed = msgspec.json.encode(self.settings)
        except (TypeError, ValueError, msgspec.MsgspecError, RecursionError) as error:
            raise InvalidInput(f"settings: must be JSON ({error})", field="settings") from error
        return checks.payload("settings", packed, bounds.ENDPOINT_SETTINGS_BYTES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """What is known of an endpoint; never the values of its secrets."""

    id: str
    env: str
    tenant: str
    provider: str
    deployment: str | None
    conversation: str | None
    settings: Mapping[str, Any]
    rate: int
    #: The names of the secrets that are set.
    secrets: tuple[str, ...] = ()
    created_at: datetime
    updated_at: datetime

    @property
    def ref(self) -> EndpointRef:
        """Its name, with its tenant."""
        return EndpointRef(id=self.id, env=self.env, tenant=self.tenant)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointPage:
    """A page of endpoints, in the order of tenant and id."""

    items: tuple[Endpoint, ...]
    next_cursor: str | None = None


def check_id(name: str, value: Any) -> str:
    """Check the id of an endpoint."""
    checks.text(name, value, bounds.ENDPOINT_CHARS, empty=False)
    if not _ID.match(value):
        checks.refuse(name, "must be letters, digits, `_` and `-`, a letter or digit first", value)
    return str(value)
