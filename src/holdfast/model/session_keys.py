"""Whose conversation a session is."""

from __future__ import annotations

import re
from dataclasses import dataclass

import msgspec

from holdfast.model import bounds, checks
from holdfast.model.ids import session_id
from holdfast.model.names import DEFAULT_TENANT

DEFAULT_ENV = "local"

#: The executions of a session are numbered.
_OF_SESSION = re.compile(r"(s[0-9a-hjkmnp-tv-z]{24})~[0-9]+\Z")


def session_of(execution_id: str) -> str | None:
    """Return the session that an execution belongs to, as its id says; None: to no session."""
    match = _OF_SESSION.match(execution_id)
    return None if match is None else match[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionKey:
    """Whose conversation it is. Every part counts, so two tenants never share a session."""

    conversation: str
    user: str
    #: Where messages arrive; by default the name of the conversation function.
    endpoint: str
    tenant: str = DEFAULT_TENANT
    env: str = DEFAULT_ENV

    def __post_init__(self) -> None:
        checks.name("tenant", self.tenant)
        checks.name("env", self.env)
        checks.name("endpoint", self.endpoint)
        checks.text("conversation", self.conversation, bounds.ID_CHARS, empty=False)
        checks.text("user", self.user, bounds.ID_CHARS, empty=False)

    @property
    def id(self) -> str:
        """The id of the session, worked out from the key."""
        parts = (self.env, self.tenant, self.endpoint, self.conversation, self.user)
        # As JSON, so that no two keys are written alike.
        return session_id(msgspec.json.encode(parts))

    @property
    def visitor(self) -> str:
        """The id of the user at the endpoint, the same in all conversations."""
        return session_id(msgspec.json.encode((self.env, self.tenant, self.endpoint, self.user)))


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRef:
    """The session of an execution that a worker claimed."""

    id: str
    key: SessionKey
    #: The last message that the conversation received.
    turn: int = 0
