"""A plain HTTP API: a bearer token, JSON in, JSON out. For scripts and services of your own."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from typing_extensions import override

from holdfast.channels import bodies, signatures
from holdfast.channels.exchange import Answer, Call, Request
from holdfast.channels.provider import Channel, Provider, Received, Settings
from holdfast.channels.providers.webhook import Message, outgoing
from holdfast.errors import InvalidInput
from holdfast.model.sessions import OutgoingReply


class HttpSettings(Settings):
    """Where replies go."""

    #: Without it, nobody sends the replies: read them from the session.
    url: str = ""


class Http(Provider):
    """A plain HTTP API."""

    name = "http"
    about = "a plain HTTP API with a bearer token"
    settings = HttpSettings
    required = frozenset({"token"})

    @override
    def verify(self, channel: Channel, request: Request) -> None:
        signatures.check(f"Bearer {channel.secrets['token']}", request.header("authorization"))

    @override
    def parse(self, channel: Channel, request: Request) -> Received:
        message = bodies.decoded(request.body, Message)
        message_id = message.id or request.header("idempotency-key")
        if not message_id:
            text = "id: is required, here or as the header Idempotency-Key"
            raise InvalidInput(text, field="id")
        return Received(messages=[message.incoming(message_id)], answer=Answer(body=b"{}"))

    @override
    def render(self, channel: Channel, reply: OutgoingReply) -> Sequence[Call]:
        if not channel.settings.url:
            return []
        headers = {
            "Authorization": f"Bearer {channel.secrets['token']}",
            "Idempotency-Key": reply.idempotency_key,
        }
        body = msgspec.json.encode(outgoing(reply))
        return [Call(url=channel.settings.url, body=body, headers=headers)]


PROVIDER = Http()
