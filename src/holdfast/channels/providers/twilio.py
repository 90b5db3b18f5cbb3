"""SMS by Twilio: forms in, forms out. Buttons are a numbered list; users answer with a number."""

from __future__ import annotations

import hmac
from base64 import b64encode
from collections.abc import Sequence
from urllib.parse import urlencode, urlsplit

from typing_extensions import override

from holdfast.channels import bodies, signatures
from holdfast.channels.content import content_of
from holdfast.channels.exchange import FORM, Answer, Call, Request
from holdfast.channels.markdown import PLAIN
from holdfast.channels.provider import Channel, Incoming, Provider, Receipt, Received, Settings
from holdfast.model.sessions import OutgoingReply, ReceiptState

#: The most that Twilio takes and sends as several messages that phones put together.
TEXT_CHARS = 1_600
_MEDIA = 10
_STATES: dict[str, ReceiptState] = {
    "delivered": "delivered",
    "read": "read",
    "undelivered": "failed",
    "failed": "failed",
}
#: No answer to the message: replies are sent on their own.
_NOTHING = Answer(body=b"<Response/>", content_type="text/xml")


class TwilioSettings(Settings):
    """The account, and the number that sends."""

    account_sid: str
    #: A number such as +15005550006, or the sid of a messaging service.
    sender: str
    #: The address of this endpoint as Twilio calls it. It is signed, so a proxy must not change it.
    #: Receipts need it, too.
    url: str = ""
    api: str = "https://api.twilio.com/2010-04-01"


class Twilio(Provider):
    """SMS by Twilio."""

    name = "twilio"
    about = "SMS by Twilio, with receipts"
    settings = TwilioSettings
    required = frozenset({"auth_token"})

    @override
    def verify(self, channel: Channel, request: Request) -> None:
        url = request.url
        if channel.settings.url:
            query = urlsplit(request.url).query
            url = channel.settings.url + (f"?{query}" if query else "")
        fields = sorted(set(bodies.form(request.body)))
        message = url + "".join(name + value for name, value in fields)
        signed = hmac.digest(channel.secrets["auth_token"].encode(), message.encode(), "sha1")
        signatures.check(b64encode(signed).decode(), request.header("x-twilio-signature"))

    @override
    def parse(self, channel: Channel, request: Request) -> Received:
        fields = dict(bodies.form(request.body))
        status = fields.get("MessageStatus")
        if status is not None:
            state = _STATES.get(status)
            problem = fields.get("ErrorCode", "")[:20]
            receipt = state and Receipt.about(request.query.get("reply"), state, problem)
            return Received(receipts=[receipt] if receipt else [], answer=_NOTHING)
        number = fields.get("NumMedia", "0")
        count = min(int(number), _MEDIA) if number in _COUNTS else 0
        files = [
            bodies.compact(
                {
                    "url": fields.get(f"MediaUrl{index}"),
                    "type": fields.get(f"MediaContentType{index}"),
                }
            )
            for index in range(count)
        ]
        payload = bodies.compact({"text": fields.get("Body"), "files": files})
        if not payload or not fields.get("MessageSid") or not fields.get("From"):
            return Received(answer=_NOTHING)
        user = fields["From"]
        found = Incoming(id=fields["MessageSid"], conversation=user, user=user, payload=payload)
        return Received(messages=[found], answer=_NOTHING)

    @override
    def render(self, channel: Channel, reply: OutgoingReply) -> Sequence[Call]:
        settings = channel.settings
        content = content_of(reply)
        images = [one.url for one in content.files if one.is_image][:_MEDIA]
        sender = "MessagingServiceSid" if settings.sender.startswith("MG") else "From"
        shared = [("To", reply.key.conversation), (sender, settings.sender)]
        if settings.url:
            reference = urlencode({"reply": reply.reference})
            shared.append(("StatusCallback", f"{settings.url}?{reference}"))
        messages = [[("Body", part)] for part in content.with_list().parts(PLAIN, TEXT_CHARS)]
        if images:
            first = messages.pop(0) if messages else []
            messages.insert(0, [*first, *(("MediaUrl", url) for url in images)])
        login = b64encode(f"{settings.account_sid}:{channel.secrets['auth_token']}".encode())
        return [
            Call(
                url=f"{settings.api}/Accounts/{settings.account_sid}/Messages.json",
                body=urlencode([*shared, *message]).encode(),
                headers={"Authorization": f"Basic {login.decode()}"},
                content_type=FORM,
            )
            for message in messages
        ]


_COUNTS = frozenset(str(number) for number in range(_MEDIA + 1))
PROVIDER = Twilio()
