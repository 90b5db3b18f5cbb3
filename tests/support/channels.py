"""Webhooks of every provider as their documentation shows them, signed as the provider would."""

from __future__ import annotations

import hmac
import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

from holdfast.channels import Channel, Provider, Request
from holdfast.channels import provider as provider_of
from holdfast.model.webhooks import headers

AT_S = 1_794_798_000
URL = "https://bots.example/ingress/local/inbox"
SECRETS: Mapping[str, Mapping[str, str]] = {
    "webhook": {"secret": "whsec_" + b64encode(b"0123456789abcdef01234567").decode()},
    "http": {"token": "s3cret-token"},
    "slack": {"signing_secret": "8f742231b10e8888abcd99yyyzzz85a5", "bot_token": "xoxb-1"},
    "telegram": {"secret_token": "tele-secret", "bot_token": "110201543:AAHdqTcvCH1vGWJxfSeof"},
    "whatsapp": {"app_secret": "app-secret", "verify_token": "verify-me", "access_token": "EAAJ"},
    "twilio": {"auth_token": "12345"},
    "postmark": {"webhook_login": "hook:pass word", "server_token": "server-token"},
}
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "whatsapp": {"phone_number_id": "106540352242922"},
    "twilio": {"account_sid": "AC123", "sender": "+15005550006", "url": URL},
    "postmark": {"sender": "Support <support@example.org>"},
}


def settings_of(name: str, api: str = "") -> dict[str, Any]:
    """Return the settings of a provider, whose API may be at another address."""
    settings = dict(SETTINGS.get(name, {}))
    if api:
        settings |= {"url": api} if name in {"webhook", "http"} else {"api": api}
    return settings


def channel_of(name: str, **changes: Any) -> tuple[Provider, Channel]:
    """Return a provider, and an endpoint of it."""
    provider = provider_of(name)
    settings = provider.checked({**settings_of(name), **changes})
    return provider, Channel(env="local", id="inbox", settings=settings, secrets=SECRETS[name])


@dataclass(frozen=True)
class Sent:
    """A webhook before it is signed."""

    provider: str
    body: bytes
    form: bool = False
    query: Mapping[str, str] = field(default_factory=dict)
    at_s: int = AT_S

    def request(self, secrets: Mapping[str, str] | None = None) -> Request:
        """Return it signed, with the secrets of the samples or others."""
        known = secrets or SECRETS[self.provider]
        kind = "application/x-www-form-urlencoded" if self.form else "application/json"
        found = {"content-type": kind, **_signed(self, known)}
        url = URL + (f"?{urlencode(self.query)}" if self.query else "")
        return Request(url=url, headers=found, query=self.query, body=self.body, at_s=AT_S)


def _signed(sent: Sent, secrets: Mapping[str, str]) -> dict[str, str]:  # noqa: PLR0911
    stamp, body = str(sent.at_s), sent.body
    match sent.provider:
        case "webhook":
            return headers([secrets["secret"]], "msg_1", sent.at_s, body)
        case "http":
            return {"authorization": f"Bearer {secrets['token']}"}
        case "slack":
            message = b"v0:%b:%b" % (stamp.encode(), body)
            signed = hmac.digest(secrets["signing_secret"].encode(), message, "sha256").hex()
            return {"x-slack-request-timestamp": stamp, "x-slack-signature": f"v0={signed}"}
        case "telegram":
            return {"x-telegram-bot-api-secret-token": secrets["secret_token"]}
        case "whatsapp":
            signed = hmac.digest(secrets["app_secret"].encode(), body, "sha256").hex()
            return {"x-hub-signature-256": f"sha256={signed}"}
        case "twilio":
            return {"x-twilio-signature": twilio_signature(sent, secrets["auth_token"])}
        case _:
            login = b64encode(secrets["webhook_login"].encode()).decode()
            return {"authorization": f"Basic {login}"}


def twilio_signature(sent: Sent, token: str) -> str:
    """Return the signature of a form, worked out from its fields as Twilio describes it."""
    url = URL + (f"?{urlencode(sent.query)}" if sent.query else "")
    try:
        fields = sorted(parse_qsl(sent.body.decode(), keep_blank_values=True))
    except UnicodeDecodeError:
        fields = []
    message = url + "".join(name + value for name, value in fields)
    return b64encode(hmac.digest(token.encode(), message.encode(), "sha1")).decode()


def json_of(provider: str, value: Any) -> Sent:
    """Return a webhook with a JSON body."""
    return Sent(provider, json.dumps(value).encode())


def form_of(provider: str, fields: Mapping[str, str], **query: str) -> Sent:
    """Return a webhook with a form."""
    return Sent(provider, urlencode(fields).encode(), form=True, query=query)


def plain(text: str, number: int = 1, user: str = "ann") -> dict[str, str]:
    """Return a message of a program."""
    return {"conversation": "room-1", "user": user, "text": text, "id": f"m{number}"}


def message(provider: str, text: str = "Hello", number: int = 1, user: str = "ann") -> Sent:
    """Return the webhook of a message, in the documented form of the provider."""
    digits = str(sum(ord(char) for char in user))
    match provider:
        case "webhook" | "http":
            return json_of(provider, plain(text, number, user))
        case "slack":
            event = {
                "type": "message",
                "channel": "D024BE91L",
                "user": user,
                "text": text,
                "ts": f"1355517523.{number:06}",
                "event_ts": f"1355517523.{number:06}",
                "channel_type": "im",
            }
            return json_of(
                provider,
                {
                    "token": "XXYYZZ",
                    "team_id": "T123ABC456",
                    "api_app_id": "A123ABC456",
                    "event": event,
                    "type": "event_callback",
                    "authed_teams": ["T123ABC456"],
                    "event_id": f"Ev{number}",
                    "event_time": AT_S,
                },
            )
        case "telegram":
            person = {
                "id": int(digits),
                "is_bot": False,
                "first_name": "Ann",
                "language_code": "en",
            }
            return json_of(
                provider,
                {
                    "update_id": 10_000 + number,
                    "message": {
                        "message_id": 1365,
                        "from": person,
                        "chat": {"id": int(digits), "first_name": "Ann", "type": "private"},
                        "date": AT_S,
                        "text": text,
                    },
                },
            )
        case "whatsapp":
            sent = {
                "from": digits,
                "id": f"wamid.{number}",
                "timestamp": str(AT_S),
                "type": "text",
                "text": {"body": text},
            }
            return whatsapp(messages=[sent])
        case "twilio":
            fields = {
                "MessageSid": f"SM{number}",
                "AccountSid": "AC123",
                "From": f"+1{digits}",
                "To": "+15005550006",
                "Body": text,
                "NumMedia": "0",
            }
            return form_of(provider, fields)
        case _:
            return json_of(
                provider,
                {
                    "FromName": "Ann",
                    "MessageStream": "inbound",
                    "From": f"{user}@example.org",
                    "FromFull": {"Email": f"{user}@Example.org", "Name": "Ann", "MailboxHash": ""},
                    "To": "support@inbound.postmarkapp.com",
                    "Subject": "Order 17",
                    "MessageID": f"22c74902-{number}",
                    "Date": "Thu, 5 Apr 2012 16:59:01 +0200",
                    "TextBody": f"{text}\n\n> quoted",
                    "HtmlBody": "<p>...</p>",
                    "StrippedTextReply": text,
                    "Headers": [{"Name": "Message-ID", "Value": f"<{user}@example.org>"}],
                    "Attachments": [],
                },
            )


def whatsapp(phone: str = "106540352242922", **value: Any) -> Sent:
    """Return a notice of WhatsApp."""
    metadata = {"display_phone_number": "15550783881", "phone_number_id": phone}
    content = {"messaging_product": "whatsapp", "metadata": metadata, **value}
    change = {"value": content, "field": "messages"}
    entry = [{"id": "102290129340398", "changes": [change]}]
    return json_of("whatsapp", {"object": "whatsapp_business_account", "entry": entry})


def late(sent: Sent, by_s: int) -> Sent:
    """Return a webhook that was signed earlier."""
    return replace(sent, at_s=sent.at_s - by_s)
