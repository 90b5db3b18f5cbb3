"""Telegram: updates in, `sendMessage` and its relatives out. Buttons are inline keyboards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from typing_extensions import override

from holdfast.channels import bodies, signatures
from holdfast.channels.content import Button, content_of
from holdfast.channels.exchange import Answer, Call, Request, Response, retry_after_ms
from holdfast.channels.markdown import TELEGRAM
from holdfast.channels.provider import Channel, Incoming, Provider, Received, Rejected, Settings
from holdfast.channels.splitting import utf16
from holdfast.model.sessions import OutgoingReply

#: Telegram counts in code units of UTF-16, without the tags.
TEXT_UNITS = 4_096
_VALUE_BYTES = 64
#: A value that is longer travels as the number of its button.
_NUMBER = "#"
_STATUS_LIMITED = 429


class TelegramSettings(Settings):
    """The address of the API, and how the bot behaves."""

    api: str = "https://api.telegram.org"
    #: Whether users see that the bot types while it works.
    typing: bool = True


class _User(msgspec.Struct, frozen=True):
    id: int
    is_bot: bool = False


class _Chat(msgspec.Struct, frozen=True):
    id: int


class _File(msgspec.Struct, frozen=True):
    file_id: str = ""
    file_name: str | None = None
    mime_type: str | None = None


class _Message(msgspec.Struct, frozen=True):
    chat: _Chat
    sender: _User | None = msgspec.field(name="from", default=None)
    text: str | None = None
    caption: str | None = None
    message_thread_id: int | None = None
    is_topic_message: bool = False
    document: _File | None = None
    voice: _File | None = None
    #: The same picture in several sizes, the largest last.
    photo: list[_File] = []


class _Query(msgspec.Struct, frozen=True):
    id: str
    sender: _User = msgspec.field(name="from")
    data: str | None = None
    message: _Message | None = None


class _Update(msgspec.Struct, frozen=True):
    update_id: int
    message: _Message | None = None
    callback_query: _Query | None = None


class Telegram(Provider):
    """Telegram."""

    name = "telegram"
    about = "Telegram: updates, inline keyboards and topics"
    settings = TelegramSettings
    required = frozenset({"secret_token", "bot_token"})

    @override
    def verify(self, channel: Channel, request: Request) -> None:
        given = request.header("x-telegram-bot-api-secret-token")
        signatures.check(channel.secrets["secret_token"], given)

    @override
    def parse(self, channel: Channel, request: Request) -> Received:
        update = bodies.decoded(request.body, _Update)
        number = str(update.update_id)
        if update.callback_query is not None:
            return self._pressed(number, update.callback_query)
        message = update.message
        if message is None or message.sender is None or message.sender.is_bot:
            return Received()
        files = [
            bodies.compact({"id": one.file_id, "name": one.file_name, "type": kind})
            for one, kind in _files(message)
        ]
        payload = bodies.compact({"text": message.text or message.caption, "files": files})
        if not payload:
            return Received()
        found = Incoming(
            id=number,
            conversation=_conversation(message),
            user=str(message.sender.id),
            payload=payload,
        )
        types = {"method": "sendChatAction", "chat_id": message.chat.id, "action": "typing"}
        answer = Answer(body=msgspec.json.encode(types)) if channel.settings.typing else Answer()
        return Received(messages=[found], answer=answer)

    def _pressed(self, number: str, query: _Query) -> Received:
        # The answer to the webhook may be a call; this one stops the spinner of the button.
        body = msgspec.json.encode({"method": "answerCallbackQuery", "callback_query_id": query.id})
        if not query.data or query.message is None:
            return Received(answer=Answer(body=body))
        is_number = query.data.startswith(_NUMBER)
        key, value = ("text", query.data[1:]) if is_number else ("choice", query.data)
        found = Incoming(
            id=number,
            conversation=_conversation(query.message),
            user=str(query.sender.id),
            payload={key: value},
        )
        return Received(messages=[found], answer=Answer(body=body))

    @override
    def render(self, channel: Channel, reply: OutgoingReply) -> Sequence[Call]:
        content = content_of(reply)
        chat, _, topic = reply.key.conversation.partition(":")
        place = {"chat_id": chat} | ({"message_thread_id": int(topic)} if topic else {})
        messages: list[tuple[str, dict[str, Any]]] = [
            ("sendPhoto", {"photo": one.url})
            if one.is_image
            else ("sendDocument", {"document": one.url})
            for one in content.files
        ]
        messages += [
            ("sendMessage", {"text": part, "parse_mode": "HTML"})
            for part in content.parts(TELEGRAM, TEXT_UNITS, utf16)
        ]
        if content.buttons:
            if not messages:
                messages.append(("sendMessage", {"text": "\u2026"}))
            method, fields = messages.pop()
            rows = [[_key(index, one)] for index, one in enumerate(content.buttons, 1)]
            messages.append((method, {**fields, "reply_markup": {"inline_keyboard": rows}}))
        bot = f"{channel.settings.api}/bot{channel.secrets['bot_token']}"
        return [
            Call(url=f"{bot}/{method}", body=msgspec.json.encode({**place, **fields}))
            for method, fields in messages
        ]

    @override
    def judge(self, response: Response) -> None:
        if response.status == _STATUS_LIMITED:
            parameters = response.decoded().get("parameters")
            wait = parameters.get("retry_after") if isinstance(parameters, dict) else None
            wait_ms = retry_after_ms(
                wait if wait is not None else response.headers.get("retry-after")
            )
            raise Rejected("Telegram asks to wait", again=True, retry_after_ms=wait_ms)
        super().judge(response)
        if response.decoded().get("ok") is not True:
            raise Rejected("Telegram did not confirm the message", again=True)


def _files(message: _Message) -> list[tuple[_File, str | None]]:
    found = [(one, one.mime_type) for one in (message.document, message.voice) if one is not None]
    return [*found, *((one, "image/jpeg") for one in message.photo[-1:])]


def _conversation(message: _Message) -> str:
    topic = message.message_thread_id if message.is_topic_message else None
    return str(message.chat.id) if topic is None else f"{message.chat.id}:{topic}"


def _key(index: int, button: Button) -> dict[str, str]:
    value = button.value
    is_short = len(value.encode()) <= _VALUE_BYTES and not value.startswith(_NUMBER)
    return {"text": button.label, "callback_data": value if is_short else f"{_NUMBER}{index}"}


PROVIDER = Telegram()
