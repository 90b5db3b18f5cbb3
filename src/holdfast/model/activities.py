"""Activities: messages and events of users, for whichever revision of a deployment answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

import msgspec

from holdfast.model import bounds, checks
from holdfast.model.ids import new_id
from holdfast.model.names import DEFAULT_TENANT
from holdfast.model.session_keys import DEFAULT_ENV, SessionKey
from holdfast.model.sessions import Activity


@dataclass(frozen=True, slots=True, kw_only=True)
class NewActivity:
    """A message or an event that arrives for a tenant in an env."""

    conversation: str
    user: str
    #: A JSON object; `text` is what the user wrote.
    payload: bytes
    env: str = DEFAULT_ENV
    tenant: str = DEFAULT_TENANT
    #: The sender's id for it: repeated, it is delivered once.
    id: str = field(default_factory=new_id)
    kind: Literal["message", "event"] = "message"
    #: Where it arrived; by default the id of the deployment.
    endpoint: str | None = None
    #: The flow that it starts if it starts one; by default the entry of the main pack.
    pack: str | None = None
    flow: str | None = None
    flow_type: str | None = None
    #: What a user did, other than writing; the conversation gets it in the payload.
    action: str | None = None
    #: Under which name the session sticks to a revision; by default its own.
    hint: str | None = None

    def __post_init__(self) -> None:
        self.to("-")
        for name in ("endpoint", "pack", "flow", "flow_type", "action"):
            if getattr(self, name) is not None:
                checks.name(name, getattr(self, name))
        if self.hint is not None:
            checks.text("hint", self.hint, bounds.ID_CHARS, empty=False)

    def to(self, deployment: str) -> Activity:
        """Return it as a session receives it."""
        key = SessionKey(
            conversation=self.conversation,
            user=self.user,
            endpoint=self.endpoint or deployment,
            tenant=self.tenant,
            env=self.env,
        )
        return Activity(key=key, payload=self.content, id=self.id, kind=self.kind)

    @property
    def content(self) -> bytes:
        """The payload, with the action."""
        checks.json_object("payload", self.payload, bounds.MESSAGE_BYTES)
        if self.action is None:
            return self.payload
        return msgspec.json.encode({**msgspec.json.decode(self.payload), "action": self.action})


class Reason(StrEnum):
    """What decides which revision gets a message."""

    WAIT = "wait"
    PIN = "pin"
    COOKIE = "cookie"
    WEIGHTS = "weights"


@dataclass(frozen=True, slots=True)
class Standing:
    """A candidate and what speaks against it."""

    revision: str
    weight_bps: int
    lifecycle: str
    #: The chance that a new session goes to it, in basis points.
    chance_bps: int
    #: Why no new session goes to it; None if one may.
    excluded: str | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """A decision with everything that was considered."""

    revision: str | None
    reason: Reason
    candidates: tuple[Standing, ...]
    #: One sentence for each step of the order, up to the one that decided.
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatch:
    """A message to deliver, and how."""

    activity: NewActivity
    #: None: the only one of the tenant in the env.
    deployment: str | None = None
    sender: str | None = None
    #: What it starts runs on this revision; None: the one that the deployment routes to.
    revision: str | None = None
    #: How long to wait for the end of its turn.
    wait_ms: int

    def __post_init__(self) -> None:
        checks.instance("activity", self.activity, NewActivity)
        if self.revision is not None:
            checks.name("revision", self.revision)
        checks.integer("wait_ms", self.wait_ms, 0, bounds.SEND_WAIT_MS)
