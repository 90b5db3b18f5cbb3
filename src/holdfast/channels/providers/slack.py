"""Slack: events and buttons in, `chat.postMessage` out.

A direct message or a channel is a conversation, and so is each thread in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from typing_extensions import override

from holdfast.channels import bodies, signatures
from holdfast.channels.content import Content, content_of
from holdfast.channels.exchange import Answer, Call, Request, Response, retry_after_ms
from holdfast.channels.markdown import SLACK
from holdfast.channels.provider import Channel, Incoming, Provider, Received, Rejected, Settings
from holdfast.errors import Malformed
from holdfast.model.sessions import OutgoingReply

#: The text of a section; the text of a message may be longer.
TEXT_CHARS = 3_000
_LABEL_CHARS = 75
_BUTTONS = 25
#: Messages of people; the others are edits, joins, and messages of bots.
_SUBTYPES = frozenset({"", "file_share", "thread_broadcast"})
_EVENTS = frozenset({"message", "app_mention"})
#: Errors that another try may not meet.
_PASSING = frozenset(
    {"ratelimited", "rate_limited", "internal_error", "fatal_error", "service_unavailable"}
    | {"request_timeout", "team_added_to_org"}
)


class SlackSettings(Settings):
    """The address of the API."""

    api: str = "https://slack.com/api"


class _File(msgspec.Struct, frozen=True):
    id: str = ""
    name: str | None = None
    mimetype: str | None = None
    url_private: str | None = None


class _Event(msgspec.Struct, frozen=True):
    type: str = ""
    subtype: str | None = None
    channel: str = ""
    user: str | None = None
    bot_id: str | None = None
    text: str | None = None
    ts: str = ""
    thread_ts: str | None = None
    files: list[_File] = []


class _Envelope(msgspec.Struct, frozen=True):
    type: str = ""
    challenge: str = ""
    event: msgspec.Raw = msgspec.Raw(b"{}")


class _Typed(msgspec.Struct, frozen=True):
    type: str = ""


class _Id(msgspec.Struct, frozen=True):
    id: str = ""


class _Action(msgspec.Struct, frozen=True):
    value: str | None = None
    action_ts: str = ""
    block_id: str = ""


class _Container(msgspec.Struct, frozen=True):
    message_ts: str = ""
    thread_ts: str | None = None


class _Interaction(msgspec.Struct, frozen=True):
    type: str = ""
    user: _Id = _Id()
    channel: _Id = _Id()
    container: _Container = _Container()
    actions: list[_Action] = []


class Slack(Provider):
    """Slack."""

    name = "slack"
    about = "Slack: events, buttons and threads"
    settings = SlackSettings
    required = frozenset({"signing_secret", "bot_token"})

    @override
    def verify(self, channel: Channel, request: Request) -> None:
        stamp = request.header("x-slack-request-timestamp")
        signatures.check_time(stamp, request.at_s)
        signed = signatures.hex_digest(
            channel.secrets["signing_secret"], b"v0:%b:%b" % (stamp.encode(), request.body)
        )
        signatures.check(f"v0={signed}", request.header("x-slack-signature"))

    @override
    def parse(self, channel: Channel, request: Request) -> Received:
        if request.header("content-type").startswith("application/x-www-form-urlencoded"):
            return self._pressed(request.body)
        envelope = bodies.decoded(request.body, _Envelope)
        if envelope.type == "url_verification":
            answer = Answer(body=envelope.challenge.encode(), content_type="text/plain")
            return Received(answer=answer)
        if envelope.type != "event_callback":
            return Received()
        # Events of other types use the same names for other things.
        if bodies.decoded(bytes(envelope.event), _Typed).type not in _EVENTS:
            return Received()
        event = bodies.decoded(bytes(envelope.event), _Event)
        is_ours = bool(event.bot_id) or not event.user
        if is_ours or (event.subtype or "") not in _SUBTYPES:
            return Received()
        files = [
            bodies.compact(
                {"id": one.id, "name": one.name, "type": one.mimetype, "url": one.url_private}
            )
            for one in event.files
        ]
        message = Incoming(
            # An event that mentions the bot arrives as two, of the same message.
            id=f"{event.channel}:{event.ts}",
            conversation=_conversation(event.channel, event.thread_ts),
            user=event.user or "",
            payload=bodies.compact({"text": event.text, "files": files}),
        )
        return Received(messages=[message])

    def _pressed(self, body: bytes) -> Received:
        """Return the button that was pressed."""
        fields = dict(bodies.form(body))
        if "payload" not in fields:
            raise Malformed("the form has no payload", field="body")
        if bodies.decoded(fields["payload"], _Typed).type != "block_actions":
            return Received()
        found = bodies.decoded(fields["payload"], _Interaction)
        messages = [
            Incoming(
                id=f"{found.channel.id}:{action.action_ts}",
                conversation=_conversation(found.channel.id, found.container.thread_ts),
                user=found.user.id,
                payload=bodies.compact({"choice": action.value, "reply": _number(action.block_id)}),
            )
            for action in found.actions
            if action.value
        ]
        return Received(messages=messages)

    @override
    def render(self, channel: Channel, reply: OutgoingReply) -> Sequence[Call]:
        content = content_of(reply)
        place, _, thread = reply.key.conversation.partition(":")
        shared = bodies.compact({"channel": place, "thread_ts": thread})
        parts = content.parts(SLACK, TEXT_CHARS, _size)
        blocks = _blocks(content, reply.number)
        messages: list[dict[str, Any]] = [{**shared, "text": part} for part in parts]
        if blocks:
            last = messages.pop() if messages else {**shared, "text": _alternative(content)}
            section = {"type": "section", "text": {"type": "mrkdwn", "text": last["text"]}}
            messages.append({**last, "blocks": [section, *blocks]})
        return [
            Call(
                url=f"{channel.settings.api}/chat.postMessage",
                body=msgspec.json.encode(message),
                headers={"Authorization": f"Bearer {channel.secrets['bot_token']}"},
                content_type="application/json; charset=utf-8",
            )
            for message in messages
        ]

    @override
    def judge(self, response: Response) -> None:
        super().judge(response)
        answer = response.decoded()
        if answer.get("ok") is not True:
            error = str(answer.get("error", "no answer"))[:100]
            wait_ms = retry_after_ms(response.headers.get("retry-after"))
            again = error in _PASSING or not answer
            raise Rejected(f"Slack answered: {error}", again=again, retry_after_ms=wait_ms)


def _conversation(channel: str, thread: str | None) -> str:
    return f"{channel}:{thread}" if thread else channel


def _size(text: str) -> int:
    """Return the size of a text after `&`, `<` and `>` are written out."""
    return len(text) + 4 * text.count("&") + 3 * (text.count("<") + text.count(">"))


def _blocks(content: Content, number: int) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = [
        {"type": "image", "image_url": one.url, "alt_text": one.name or "image"}
        for one in content.files
        if one.is_image
    ]
    links = [f"<{one.url}|{one.name or one.url}>" for one in content.files if not one.is_image]
    if links:
        text = {"type": "mrkdwn", "text": "\n".join(links)[:TEXT_CHARS]}
        blocks.append({"type": "section", "text": text})
    if content.buttons:
        elements = [
            {
                "type": "button",
                "action_id": f"choice-{index}",
                "text": {"type": "plain_text", "text": one.label[:_LABEL_CHARS]},
                "value": one.value,
            }
            for index, one in enumerate(content.buttons[:_BUTTONS])
        ]
        blocks.append({"type": "actions", "block_id": f"reply-{number}", "elements": elements})
    return blocks


def _alternative(content: Content) -> str:
    """Return a text for a message that only has a picture, files or buttons."""
    named = [one.name for one in content.files if one.name]
    return ", ".join(named) or "\u2026"


def _number(block_id: str) -> int | None:
    """Return the reply that a button belongs to."""
    number = block_id.removeprefix("reply-")
    is_ours = block_id.startswith("reply-") and number.isascii() and number.isdecimal()
    return int(number) if is_ours and len(number) < 10 else None  # noqa: PLR2004


PROVIDER = Slack()
