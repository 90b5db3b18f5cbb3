"""E-mail by Postmark: letters in by webhook, letters out by its API.

A thread is a conversation: the first message id of `References` names it, or the letter's own.
Postmark does not sign webhooks; it sends the user name and the password that the address of the
webhook has.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from typing_extensions import override

from holdfast.channels import bodies, signatures
from holdfast.channels.content import content_of
from holdfast.channels.exchange import Call, Request, Response
from holdfast.channels.markdown import HTML, PLAIN
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

_BODY_CHARS = 1_000_000
_REFERENCE = "holdfast-reply"
_STATES: dict[str, ReceiptState] = {"Delivery": "delivered", "Open": "read", "Bounce": "failed"}
_INBOUND = frozenset({"", "Inbound"})


class PostmarkSettings(Settings):
    """Who writes, and what the letters are about."""

    #: The address of the sender, such as `Support <support@example.org>`.
    sender: str
    subject: str = "Your message"
    message_stream: str = "outbound"
    api: str = "https://api.postmarkapp.com"


class _Address(msgspec.Struct, frozen=True):
    email: str = msgspec.field(name="Email", default="")


class _Header(msgspec.Struct, frozen=True):
    name: str = msgspec.field(name="Name", default="")
    value: str = msgspec.field(name="Value", default="")


class _Attachment(msgspec.Struct, frozen=True):
    name: str = msgspec.field(name="Name", default="")
    type: str = msgspec.field(name="ContentType", default="")


class _Letter(msgspec.Struct, frozen=True, rename="pascal"):
    message_id: str = msgspec.field(name="MessageID", default="")
    record_type: str = ""
    sender: _Address = msgspec.field(name="FromFull", default=_Address())
    subject: str = ""
    text_body: str = ""
    stripped_text_reply: str = ""
    headers: list[_Header] = []
    attachments: list[_Attachment] = []
    metadata: dict[str, str] = {}
    description: str = ""


class Postmark(Provider):
    """E-mail by Postmark."""

    name = "postmark"
    about = "e-mail by Postmark, with receipts"
    settings = PostmarkSettings
    #: `webhook_login` is USER:PASSWORD of the address of the webhook.
    required = frozenset({"webhook_login", "server_token"})

    @override
    def verify(self, channel: Channel, request: Request) -> None:
        given = signatures.basic(request.header("authorization"))
        signatures.check(channel.secrets["webhook_login"], given)

    @override
    def parse(self, channel: Channel, request: Request) -> Received:
        letter = bodies.decoded(request.body, _Letter)
        if letter.record_type not in _INBOUND:
            state = _STATES.get(letter.record_type)
            reference = letter.metadata.get(_REFERENCE)
            receipt = state and Receipt.about(reference, state, letter.description[:200])
            return Received(receipts=[receipt] if receipt else [])
        user = letter.sender.email.lower()
        text = letter.stripped_text_reply or letter.text_body
        files = [bodies.compact({"name": one.name, "type": one.type}) for one in letter.attachments]
        payload = bodies.compact({"text": text.strip(), "subject": letter.subject, "files": files})
        if not user or not letter.message_id or not payload:
            return Received()
        found = Incoming(
            id=letter.message_id, conversation=_thread(letter) or user, user=user, payload=payload
        )
        return Received(messages=[found])

    @override
    def render(self, channel: Channel, reply: OutgoingReply) -> Sequence[Call]:
        content = content_of(reply).with_list()
        texts = content.parts(PLAIN, _BODY_CHARS)
        if not texts:
            return []
        thread = reply.key.conversation
        names = ("In-Reply-To", "References") if thread.startswith("<") else ()
        letter = {
            "From": channel.settings.sender,
            "To": reply.key.user,
            "Subject": _subject(reply) or channel.settings.subject,
            "TextBody": texts[0],
            "HtmlBody": content.parts(HTML, _BODY_CHARS)[0],
            "MessageStream": channel.settings.message_stream,
            "Headers": [{"Name": name, "Value": thread} for name in names],
            "Metadata": {_REFERENCE: reply.reference},
        }
        return [
            Call(
                url=f"{channel.settings.api}/email",
                body=msgspec.json.encode(letter),
                headers={
                    "X-Postmark-Server-Token": channel.secrets["server_token"],
                    "Accept": "application/json",
                },
            )
        ]

    @override
    def judge(self, response: Response) -> None:
        super().judge(response)
        code = response.decoded().get("ErrorCode", 0)
        if code != 0:
            raise Rejected(f"Postmark answered with error {code}"[:100], again=False)


def _thread(letter: _Letter) -> str:
    """Return the message id that names the thread, with its brackets; empty if there is none."""
    found = {one.name.lower(): one.value.split() for one in letter.headers if one.value.strip()}
    references = found.get("references") or found.get("in-reply-to") or found.get("message-id")
    first = references[0] if references else ""
    is_id = first.startswith("<") and first.endswith(">") and first.isascii()
    return first if is_id and len(first) <= _ID_CHARS else ""


def _subject(reply: OutgoingReply) -> str:
    """Return the subject that the conversation chose, on one line."""
    subject = reply.value.get("subject")
    return " ".join(subject.split())[:_ID_CHARS] if isinstance(subject, str) else ""


_ID_CHARS = 250
PROVIDER = Postmark()
