"""WhatsApp Cloud API: messages and statuses in, messages with buttons or lists out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from typing_extensions import override

from holdfast.channels import bodies, signatures
from holdfast.channels.content import Button, File, content_of
from holdfast.channels.exchange import Answer, Call, Request, Response
from holdfast.channels.markdown import WHATSAPP
from holdfast.channels.provider import (
    Channel,
    Incoming,
    Provider,
    Receipt,
    Received,
    Rejected,
    Settings,
)
from holdfast.model.sessions import OutgoingReply, ReceiptState

TEXT_CHARS = 4_096
#: The text above buttons.
_BODY_CHARS = 1_024
_BUTTONS, _BUTTON_CHARS = 3, 20
_ROWS, _ROW_CHARS = 10, 24
_VALUE_CHARS = 200
_STATES: dict[str, ReceiptState] = {"delivered": "delivered", "read": "read", "failed": "failed"}
#: Errors of too many messages, which pass.
_PASSING = frozenset({4, 80007, 130429, 131048, 131056, 133016, 1, 2, 131000, 131016})


class WhatsappSettings(Settings):
    """The number of the business, and how it behaves."""

    phone_number_id: str
    api: str = "https://graph.facebook.com/v23.0"
    #: Whether users see that their message was read, and that somebody types.
    typing: bool = True


class _Text(msgspec.Struct, frozen=True):
    body: str = ""


class _Media(msgspec.Struct, frozen=True):
    id: str = ""
    mime_type: str | None = None
    filename: str | None = None
    caption: str | None = None


class _Picked(msgspec.Struct, frozen=True):
    id: str = ""


class _Interactive(msgspec.Struct, frozen=True):
    button_reply: _Picked | None = None
    list_reply: _Picked | None = None


class _Quick(msgspec.Struct, frozen=True):
    payload: str | None = None
    text: str | None = None


class _Message(msgspec.Struct, frozen=True):
    id: str
    sender: str = msgspec.field(name="from")
    text: _Text | None = None
    interactive: _Interactive | None = None
    button: _Quick | None = None
    image: _Media | None = None
    document: _Media | None = None
    audio: _Media | None = None
    video: _Media | None = None


class _Problem(msgspec.Struct, frozen=True):
    code: int = 0
    title: str = ""


class _Status(msgspec.Struct, frozen=True):
    status: str = ""
    biz_opaque_callback_data: str | None = None
    errors: list[_Problem] = []


class _Number(msgspec.Struct, frozen=True):
    phone_number_id: str = ""


class _Value(msgspec.Struct, frozen=True):
    metadata: _Number = _Number()
    messages: list[_Message] = []
    statuses: list[_Status] = []


class _Change(msgspec.Struct, frozen=True):
    field: str = ""
    value: msgspec.Raw = msgspec.Raw(b"{}")


class _Entry(msgspec.Struct, frozen=True):
    changes: list[_Change] = []


class _Notice(msgspec.Struct, frozen=True):
    entry: list[_Entry] = []


class Whatsapp(Provider):
    """WhatsApp Cloud API."""

    name = "whatsapp"
    about = "WhatsApp Cloud API: messages, buttons, lists and receipts"
    settings = WhatsappSettings
    required = frozenset({"app_secret", "verify_token", "access_token"})

    @override
    def challenge(self, channel: Channel, request: Request) -> Answer:
        signatures.check(channel.secrets["verify_token"], request.query.get("hub.verify_token", ""))
        challenge = request.query.get("hub.challenge", "")
        return Answer(body=challenge.encode(), content_type="text/plain")

    @override
    def verify(self, channel: Channel, request: Request) -> None:
        signed = signatures.hex_digest(channel.secrets["app_secret"], request.body)
        signatures.check(f"sha256={signed}", request.header("x-hub-signature-256"))

    @override
    def parse(self, channel: Channel, request: Request) -> Received:
        notice = bodies.decoded(request.body, _Notice)
        messages: list[Incoming] = []
        receipts: list[Receipt] = []
        for change in (one for entry in notice.entry for one in entry.changes):
            if change.field != "messages":
                continue
            value = bodies.decoded(bytes(change.value), _Value)
            # The app may have several numbers; each is an endpoint of its own.
            if value.metadata.phone_number_id != channel.settings.phone_number_id:
                continue
            messages += [_incoming(one) for one in value.messages]
            receipts += [one for one in map(_receipt, value.statuses) if one is not None]
        found = [one for one in messages if one.payload]
        calls = [_typing(channel, one) for one in found if channel.settings.typing]
        return Received(messages=found, receipts=receipts, courtesies=calls)

    @override
    def render(self, channel: Channel, reply: OutgoingReply) -> Sequence[Call]:
        content = content_of(reply)
        fits = len(content.buttons) <= _ROWS
        shown = content if fits else content.with_list()
        bodies_ = [_media(one) for one in shown.files]
        bodies_ += [
            {"type": "text", "text": {"body": part}} for part in shown.parts(WHATSAPP, TEXT_CHARS)
        ]
        if shown.buttons:
            last = bodies_[-1]["text"]["body"] if bodies_ and "text" in bodies_[-1] else ""
            if 0 < len(last) <= _BODY_CHARS:
                bodies_.pop()
            else:
                last = "\u2026"
            bodies_.append({"type": "interactive", "interactive": _picker(last, shown.buttons)})
        shared = {
            "messaging_product": "whatsapp",
            "recipient_type": "individual",
            "to": reply.key.conversation,
            "biz_opaque_callback_data": reply.reference,
        }
        return [_call(channel, {**shared, **body}) for body in bodies_]

    @override
    def judge(self, response: Response) -> None:
        error = response.decoded().get("error")
        code = error.get("code") if isinstance(error, dict) else None
        if code is not None:
            again = code in _PASSING
            raise Rejected(f"WhatsApp answered with error {code}"[:100], again=again)
        super().judge(response)


def _call(channel: Channel, message: dict[str, Any]) -> Call:
    return Call(
        url=f"{channel.settings.api}/{channel.settings.phone_number_id}/messages",
        body=msgspec.json.encode(message),
        headers={"Authorization": f"Bearer {channel.secrets['access_token']}"},
    )


def _typing(channel: Channel, message: Incoming) -> Call:
    return _call(
        channel,
        {
            "messaging_product": "whatsapp",
            "status": "read",
            "message_id": message.id,
            "typing_indicator": {"type": "text"},
        },
    )


def _incoming(message: _Message) -> Incoming:
    media = [message.image, message.document, message.audio, message.video]
    found = [one for one in media if one is not None]
    texts = [message.text.body if message.text else "", *(one.caption or "" for one in found)]
    picked = message.interactive and (
        message.interactive.button_reply or message.interactive.list_reply
    )
    quick = message.button
    files = [
        bodies.compact({"id": one.id, "name": one.filename, "type": one.mime_type}) for one in found
    ]
    payload = bodies.compact(
        {
            "text": "\n".join(text for text in texts if text),
            "choice": (picked and picked.id) or (quick and (quick.payload or quick.text)),
            "files": files,
        }
    )
    return Incoming(
        id=message.id, conversation=message.sender, user=message.sender, payload=payload
    )


def _receipt(status: _Status) -> Receipt | None:
    state = _STATES.get(status.status)
    problem = "; ".join(f"{one.code} {one.title}" for one in status.errors)[:200]
    return state and Receipt.about(status.biz_opaque_callback_data, state, problem)


def _picker(text: str, buttons: Sequence[Button]) -> dict[str, Any]:
    """Return up to three buttons, or a list of up to ten rows."""
    shared = {"body": {"text": text}}
    if len(buttons) <= _BUTTONS:
        replies = [
            {"type": "reply", "reply": {"id": one.value, "title": one.label[:_BUTTON_CHARS]}}
            for one in buttons
        ]
        return {**shared, "type": "button", "action": {"buttons": replies}}
    rows = [{"id": one.value[:_VALUE_CHARS], "title": one.label[:_ROW_CHARS]} for one in buttons]
    return {**shared, "type": "list", "action": {"button": "\u2026", "sections": [{"rows": rows}]}}


def _media(file: File) -> dict[str, Any]:
    if file.is_image:
        return {"type": "image", "image": {"link": file.url}}
    return {
        "type": "document",
        "document": bodies.compact({"link": file.url, "filename": file.name}),
    }


PROVIDER = Whatsapp()
