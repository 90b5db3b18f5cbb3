"""A program of yours, both ways signed as the Standard Webhooks specification says.

In:  {"conversation", "user", "text" | "payload", "id"?, "kind"?}; by default `webhook-id` is the id
Out: {"session", "number", "conversation", "user", "payload"}; each try has the same `webhook-id`
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from typing_extensions import override

from holdfast.channels import bodies
from holdfast.channels.exchange import Answer, Call, Request
from holdfast.channels.provider import Channel, Incoming, Provider, Received, Settings
from holdfast.errors import InvalidSignature, InvalidToken
from holdfast.model.sessions import OutgoingReply
from holdfast.model.webhooks import headers, verify


class WebhookSettings(Settings):
    """Where replies go."""

    #: Without it, nobody sends the replies: read them from the session.
    url: str = ""


class Message(msgspec.Struct, forbid_unknown_fields=True):
    """A message as a program sends it."""

    conversation: str
    user: str
    text: str = ""
    payload: dict[str, Any] = {}
    id: str = ""
    kind: Literal["message", "event"] = "message"

    def incoming(self, message_id: str) -> Incoming:
        """Return it under the id that it has, or else this one."""
        payload = {**self.payload, "text": self.text} if self.text else self.payload
        return Incoming(
            id=self.id or message_id,
            conversation=self.conversation,
            user=self.user,
            payload=payload,
            kind=self.kind,
        )


def outgoing(reply: OutgoingReply) -> dict[str, Any]:
    """Return a reply as a program receives it."""
    return {
        "session": reply.session,
        "number": reply.number,
        "conversation": reply.key.conversation,
        "user": reply.key.user,
        "payload": reply.value,
    }


class Webhook(Provider):
    """A program of yours."""

    name = "webhook"
    about = "your own program, signed both ways (Standard Webhooks)"
    settings = WebhookSettings
    required = frozenset({"secret"})

    @override
    def verify(self, channel: Channel, request: Request) -> None:
        try:
            verify(channel.secrets["secret"], request.headers, request.body, request.at_s)
        except InvalidToken as error:
            raise InvalidSignature(error.message) from None

    @override
    def parse(self, channel: Channel, request: Request) -> Received:
        message = bodies.decoded(request.body, Message)
        found = message.incoming(request.header("webhook-id"))
        return Received(messages=[found], answer=Answer(body=b"{}"))

    @override
    def render(self, channel: Channel, reply: OutgoingReply) -> Sequence[Call]:
        url = channel.settings.url
        if not url:
            return []
        body = msgspec.json.encode(outgoing(reply))
        signed = headers([channel.secrets["secret"]], reply.idempotency_key, int(time.time()), body)
        return [Call(url=url, body=body, headers=signed)]


PROVIDER = Webhook()
