"""What a provider is: functions between the formats of a service and ours, without input or output.

a webhook   -> verify -> parse  -> messages, receipts, and the answer to the webhook
a reply     -> render -> calls  -> judge what the service answers to each
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import msgspec

from holdfast.channels.exchange import Answer, Call, Request, Response, retry_after_ms
from holdfast.errors import InvalidInput, InvalidSignature
from holdfast.model import checks
from holdfast.model.sessions import OutgoingReply, ReceiptState

#: Statuses after which the same call may succeed later.
_AGAIN = frozenset({408, 425, 429})
_SUCCESS = range(200, 300)
_FAULTS = range(500, 600)


class Settings(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The settings of an endpoint that are not secret; each provider has its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """An endpoint as its provider sees it."""

    env: str
    id: str
    settings: Any
    secrets: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """A message or an event from a user."""

    #: The provider's id for it: repeated, it is delivered once.
    id: str
    conversation: str
    user: str
    payload: Mapping[str, Any]
    kind: Literal["message", "event"] = "message"


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What became of a reply at its receiver."""

    session: str
    number: int
    state: ReceiptState
    problem: str = ""
    #: Which sending of the reply it is about: how often it had been sent again.
    resent: int = 0

    @classmethod
    def about(cls, reference: object, state: ReceiptState, problem: str = "") -> Receipt | None:
        """Return a receipt for the reply that a reference names; None if it names none."""
        named = _REFERENCE.fullmatch(reference) if isinstance(reference, str) else None
        if named is None:
            return None
        session, number, resent = named.groups("0")
        return cls(
            session=session, number=int(number), state=state, problem=problem, resent=int(resent)
        )


#: SESSION:NUMBER, with .N if it was sent again N times; see `OutgoingReply.reference`.
_REFERENCE = re.compile(r"(.+):([0-9]{1,12})(?:\.([0-9]{1,9}))?", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """What a webhook contains."""

    messages: Sequence[Incoming] = ()
    receipts: Sequence[Receipt] = ()
    answer: Answer = field(default_factory=Answer)
    #: What to send once the messages are accepted, if it succeeds: that somebody types, for one.
    courtesies: Sequence[Call] = ()


class Rejected(Exception):
    """A provider did not take a message."""

    def __init__(self, problem: str, *, again: bool, retry_after_ms: int | None = None) -> None:
        super().__init__(problem)
        #: Whether another try makes sense.
        self.again: bool = again
        #: How long the provider asks to wait.
        self.retry_after_ms: int | None = retry_after_ms


class Provider(ABC):
    """A service that carries messages. One instance serves all endpoints."""

    name: ClassVar[str]
    #: What it is, in a few words.
    about: ClassVar[str]
    settings: ClassVar[type[Settings]]
    #: Secrets that an endpoint must have, and those that it may have.
    required: ClassVar[frozenset[str]]
    optional: ClassVar[frozenset[str]] = frozenset()

    def challenge(self, channel: Channel, request: Request) -> Answer:  # noqa: ARG002
        """Answer a GET by which the provider checks the address; raises InvalidSignature."""
        raise InvalidSignature("this endpoint has no such address, or the call is not genuine")

    @abstractmethod
    def verify(self, channel: Channel, request: Request) -> None:
        """Check that a call comes from the provider and is recent; raises InvalidSignature."""

    @abstractmethod
    def parse(self, channel: Channel, request: Request) -> Received:
        """Return what a verified call contains; raises InvalidInput."""

    @abstractmethod
    def render(self, channel: Channel, reply: OutgoingReply) -> Sequence[Call]:
        """Return the calls that send a reply, in order; none if it has nothing to show."""

    def judge(self, response: Response) -> None:
        """Check the answer to a call; raises Rejected."""
        if response.status in _SUCCESS:
            return
        raise Rejected(
            f"the provider answered with {response.status}",
            again=response.status in _AGAIN or response.status in _FAULTS,
            retry_after_ms=retry_after_ms(response.headers.get("retry-after")),
        )

    def checked(self, settings: Mapping[str, Any]) -> Settings:
        """Return the settings of an endpoint; raises InvalidInput."""
        try:
            return msgspec.convert(checks.mapping("settings", settings), self.settings)
        except (msgspec.ValidationError, RecursionError) as error:
            raise InvalidInput(f"settings: {error}", field="settings") from None
