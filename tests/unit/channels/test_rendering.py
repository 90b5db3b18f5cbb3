"""Replies become messages of providers, within their limits."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs

import pytest

from holdfast.channels import NAMES, Call, Rejected, Response, provider
from holdfast.channels.provider import Receipt
from holdfast.channels.splitting import utf16
from holdfast.model.session_keys import SessionKey
from holdfast.model.sessions import OutgoingReply
from holdfast.model.webhooks import verify
from tests.support.channels import SECRETS, URL, channel_of

#: Providers for people, and how they show a text.
TEXTS = ("slack", "telegram", "whatsapp", "twilio", "postmark")
BUTTONS = [{"label": "Small", "value": "small"}, {"label": "Large", "value": "large"}]


def reply(conversation: str = "c1", user: str = "ann", **payload: Any) -> OutgoingReply:
    key = SessionKey(conversation=conversation, user=user, endpoint="inbox")
    return OutgoingReply(
        session=key.id,
        key=key,
        number=4,
        payload=json.dumps(payload).encode(),
        at=datetime.now(UTC),
    )


def render(name: str, one: OutgoingReply, **settings: Any) -> list[Call]:
    found, channel = channel_of(name, **settings)
    return list(found.render(channel, one))


def bodies(name: str, one: OutgoingReply, **settings: Any) -> list[dict[str, Any]]:
    calls = render(name, one, **settings)
    if name == "twilio":
        return [parse_qs(call.body.decode()) for call in calls]
    return [json.loads(call.body) for call in calls]


def text_of(name: str, body: dict[str, Any]) -> str:
    found = {
        "slack": lambda: body["text"],
        "telegram": lambda: body["text"],
        "whatsapp": lambda: body["text"]["body"],
        "twilio": lambda: body["Body"][0],
        "postmark": lambda: body["TextBody"],
    }[name]()
    return str(found)


@pytest.mark.parametrize("name", TEXTS)
def test_plain_text_arrives_as_it_is(name: str) -> None:
    (body,) = bodies(name, reply(text="2 * 3 * 4 = _24_, `x` **y**", conversation="7"))
    assert text_of(name, body) == "2 * 3 * 4 = _24_, `x` **y**"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("slack", "*Hi* &amp; _you_ ~no~ `a&lt;b` <https://e.org|here>"),
        (
            "telegram",
            '<b>Hi</b> &amp; <i>you</i> <s>no</s> <code>a&lt;b</code> <a href="https://e.org">here</a>',
        ),
        ("whatsapp", "*Hi* & _you_ ~no~ `a<b` here (https://e.org)"),
        ("twilio", "Hi & you no a<b here (https://e.org)"),
    ],
)
def test_markdown_is_translated(name: str, expected: str) -> None:
    source = "**Hi** & *you* ~~no~~ `a<b` [here](https://e.org)"
    (body,) = bodies(name, reply(text=source, markdown=True, conversation="7"))
    assert text_of(name, body) == expected


@pytest.mark.parametrize("name", TEXTS)
def test_a_reply_of_data_alone_shows_nothing(name: str) -> None:
    assert render(name, reply(data={"order": 17}, conversation="7")) == []


@pytest.mark.parametrize(
    ("name", "limit"),
    [("slack", 3_000), ("telegram", 4_096), ("whatsapp", 4_096), ("twilio", 1_600)],
)
def test_long_texts_are_split_within_the_limits(name: str, limit: int) -> None:
    words = " ".join(f"word{number} & \U0001f469\u200d\U0001f680." for number in range(2_000))
    found = [text_of(name, one) for one in bodies(name, reply(text=words, conversation="7"))]
    assert len(found) > 2
    for part in found:
        size = utf16(part.replace("&amp;", "&")) if name == "telegram" else len(part)
        assert size <= limit
        assert part.startswith("word")
    joined = " ".join(found).replace("&amp;", "&")
    assert joined == words


def test_slack_has_buttons_pictures_and_threads() -> None:
    one = reply(
        "C1:1355.1",
        text="Choose",
        buttons=BUTTONS,
        card={"title": "Order", "image": "https://e.org/a.png"},
    )
    (body,) = bodies("slack", one)
    assert (body["channel"], body["thread_ts"]) == ("C1", "1355.1")
    section, image, actions = body["blocks"]
    assert section["text"]["text"] == "Choose\n\n*Order*"
    assert image["image_url"] == "https://e.org/a.png"
    assert actions["block_id"] == "reply-4"
    assert [one["value"] for one in actions["elements"]] == ["small", "large"]
    (call,) = render("slack", one)
    assert call.headers["Authorization"] == "Bearer xoxb-1"
    assert "xoxb-1" not in repr(call)


def test_telegram_has_keyboards_and_files() -> None:
    """A value that is too long for a button travels as the button's number."""
    long = {"label": "Long", "value": "x" * 65}
    file = {"url": "https://e.org/a.pdf", "name": "a.pdf", "type": "application/pdf"}
    calls = render("telegram", reply("7:5", text="Choose", buttons=[*BUTTONS, long], files=[file]))
    assert [call.url.rpartition("/")[2] for call in calls] == ["sendDocument", "sendMessage"]
    body = json.loads(calls[1].body)
    assert (body["chat_id"], body["message_thread_id"]) == ("7", 5)
    rows = body["reply_markup"]["inline_keyboard"]
    assert [row[0]["callback_data"] for row in rows] == ["small", "large", "#3"]
    assert SECRETS["telegram"]["bot_token"] not in repr(calls)


@pytest.mark.parametrize(("count", "kind"), [(3, "button"), (4, "list"), (11, None)])
def test_whatsapp_has_buttons_or_a_list(count: int, kind: str | None) -> None:
    """More than ten choices are numbered in the text."""
    buttons = [{"label": f"Option {one}", "value": f"v{one}"} for one in range(count)]
    (body,) = bodies("whatsapp", reply("1650", text="Choose", buttons=buttons))
    assert body["biz_opaque_callback_data"].endswith(":4")
    if kind is None:
        assert body["text"]["body"].endswith("11. Option 10")
    else:
        assert body["interactive"]["type"] == kind
        assert body["interactive"]["body"]["text"] == "Choose"


def test_an_sms_numbers_its_choices_and_asks_for_receipts() -> None:
    (body,) = bodies("twilio", reply("+1650", text="Choose", buttons=BUTTONS))
    assert body["Body"] == ["Choose\n\n1. Small\n2. Large"]
    assert body["To"] == ["+1650"]
    assert body["StatusCallback"][0].startswith(f"{URL}?reply=")
    (body,) = bodies("twilio", reply("+1650", text="x"), sender="MG1", url="")
    assert body["MessagingServiceSid"] == ["MG1"]
    assert "StatusCallback" not in body


def test_a_letter_answers_its_thread() -> None:
    (body,) = bodies("postmark", reply("<first@example.org>", "ann@example.org", text="Hi <you>"))
    assert body["Headers"][0] == {"Name": "In-Reply-To", "Value": "<first@example.org>"}
    assert (body["To"], body["TextBody"]) == ("ann@example.org", "Hi <you>")
    assert body["HtmlBody"] == "Hi &lt;you&gt;"
    assert body["Metadata"]["holdfast-reply"].endswith(":4")
    (body,) = bodies("postmark", reply(user="ann@e.org", text="x", subject="Two\r\nBcc: all"))
    assert body["Subject"] == "Two Bcc: all"


def test_a_program_gets_everything_signed() -> None:
    one = reply(text="Hi", data={"order": 17})
    (call,) = render("webhook", one, url="https://e.org/in")
    assert json.loads(call.body)["payload"] == {"text": "Hi", "data": {"order": 17}}
    at_s = int(call.headers["webhook-timestamp"])
    message_id = verify(SECRETS["webhook"]["secret"], call.headers, call.body, at_s)
    assert message_id == one.idempotency_key
    assert render("webhook", one) == []
    (call,) = render("http", one, url="https://e.org/in")
    assert call.headers["Idempotency-Key"] == one.idempotency_key


OK = {"slack": b'{"ok":true}', "telegram": b'{"ok":true}', "postmark": b'{"ErrorCode":0}'}


@pytest.mark.parametrize("name", NAMES)
def test_a_provider_is_judged_by_its_answer(name: str) -> None:
    """It took the message; it may later; or it never will."""
    judge = provider(name).judge
    judge(Response(status=200, body=OK.get(name, b"{}")))
    for status, again in ((500, True), (502, True), (429, True), (400, False), (403, False)):
        with pytest.raises(Rejected) as refused:
            judge(Response(status=status, headers={"retry-after": "7"}, body=b"<html>"))
        assert refused.value.again is again
        assert status != 429 or refused.value.retry_after_ms == 7_000


@pytest.mark.parametrize(
    ("name", "body", "again"),
    [
        ("slack", b'{"ok":false,"error":"channel_not_found"}', False),
        ("slack", b'{"ok":false,"error":"internal_error"}', True),
        ("slack", b"not json", True),
        ("telegram", b"{}", True),
        ("whatsapp", b'{"error":{"code":130429,"message":"limit"}}', True),
        ("whatsapp", b'{"error":{"code":131047,"message":"window"}}', False),
        ("postmark", b'{"ErrorCode":406,"Message":"inactive"}', False),
    ],
)
def test_a_provider_may_refuse_with_success(name: str, body: bytes, again: bool) -> None:
    with pytest.raises(Rejected) as refused:
        provider(name).judge(Response(status=200, body=body))
    assert refused.value.again is again


def test_telegram_says_how_long_to_wait() -> None:
    body = b'{"ok":false,"error_code":429,"parameters":{"retry_after":14}}'
    with pytest.raises(Rejected) as refused:
        provider("telegram").judge(Response(status=429, body=body))
    assert refused.value.retry_after_ms == 14_000


@pytest.mark.parametrize("given", ["nan", "inf", "-1", "soon", "1e400", ""])
def test_a_pause_that_makes_no_sense_is_ignored(given: str) -> None:
    with pytest.raises(Rejected) as refused:
        provider("http").judge(Response(status=429, headers={"retry-after": given}))
    assert refused.value.retry_after_ms is None


@pytest.mark.parametrize(
    ("name", "reference_in"),
    [
        ("whatsapp", lambda body: body["biz_opaque_callback_data"]),
        ("twilio", lambda body: parse_qs(body["StatusCallback"][0].partition("?")[2])["reply"][0]),
        ("postmark", lambda body: body["Metadata"]["holdfast-reply"]),
    ],
)
@pytest.mark.parametrize("resent", [0, 2])
def test_a_receipt_names_the_sending_that_it_is_about(
    name: str, reference_in: Callable[[dict[str, Any]], str], resent: int
) -> None:
    """The key for receivers that take one is the same for all of them."""
    one = replace(reply("1", "ann@example.org", text="Hi"), resent=resent)
    (body,) = bodies(name, one)
    found = Receipt.about(reference_in(body), "failed")
    assert found is not None
    assert (found.session, found.number, found.resent) == (one.session, 4, resent)
    assert one.idempotency_key == f"{one.session}:4"


@pytest.mark.parametrize("reference", [None, "", "s:", ":4", "s:4.", "s:.1", "s:4.x", "s:4.1.2"])
def test_a_reference_of_another_program_names_nothing(reference: str | None) -> None:
    assert Receipt.about(reference, "failed") is None
