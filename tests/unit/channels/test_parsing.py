"""Webhooks of providers, in the forms that they document, become messages and receipts."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import pytest

from holdfast.channels import NAMES, Incoming, Received
from holdfast.errors import InvalidInput
from tests.support.channels import Sent, channel_of, form_of, json_of, message, whatsapp

EVERY = NAMES
SESSION = "s0123456789abcdefghjkmnpq"


def parse(sent: Sent) -> Received:
    provider, channel = channel_of(sent.provider)
    request = sent.request()
    provider.verify(channel, request)
    return provider.parse(channel, request)


def only(sent: Sent) -> Incoming:
    (found,) = parse(sent).messages
    return found


@pytest.mark.parametrize("name", EVERY)
def test_a_message_has_its_text(name: str) -> None:
    """The id, the user and the conversation are the same whenever the webhook is repeated."""
    found = only(message(name, "Hello \U0001f44b"))
    assert found.payload["text"] == "Hello \U0001f44b"
    assert found == only(message(name, "Hello \U0001f44b"))
    assert found.id
    assert only(message(name, "Hello", number=2)).id != found.id
    assert only(message(name, user="bob")).user != found.user


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"a":', b"[" * 5_000])
def test_a_malformed_body_is_refused_or_has_nothing(name: str, body: bytes) -> None:
    provider, channel = channel_of(name)
    sent = Sent(name, body, form=name == "twilio")
    try:
        found = provider.parse(channel, sent.request())
    except InvalidInput:
        return
    assert not found.messages


# Slack


def slack_event(**changes: Any) -> Sent:
    value = json.loads(message("slack").body)
    value["event"] |= changes
    return json_of("slack", value)


def test_slack_is_told_its_challenge() -> None:
    sent = json_of("slack", {"token": "x", "challenge": "3eZbrw1a", "type": "url_verification"})
    found = parse(sent)
    assert (found.answer.body, found.answer.content_type) == (b"3eZbrw1a", "text/plain")
    assert not found.messages


def test_slack_has_a_session_for_each_thread() -> None:
    found = only(slack_event(thread_ts="1355517523.000001"))
    assert found.conversation == "D024BE91L:1355517523.000001"


def test_slack_sends_a_mention_twice() -> None:
    """As a message and as a mention, with different event ids: it is the same message."""
    assert only(slack_event(type="app_mention")).id == only(slack_event()).id


@pytest.mark.parametrize(
    "changes",
    [
        {"bot_id": "B1"},
        {"subtype": "message_changed", "message": {"text": "x"}},
        {"user": None},
        {"type": "reaction_added", "item": {"channel": "C1"}},
        {"type": "channel_created", "channel": {"id": "C1", "name": "fun"}},
    ],
)
def test_slack_tells_more_than_messages_of_people(changes: dict[str, Any]) -> None:
    assert not parse(slack_event(**changes)).messages


def test_slack_tells_which_button_was_pressed() -> None:
    payload = {
        "type": "block_actions",
        "team": {"id": "T9TK3CUKW", "domain": "example"},
        "user": {"id": "UA8RXUSPL", "username": "ann", "team_id": "T9TK3CUKW"},
        "api_app_id": "AABA1ABCD",
        "container": {
            "type": "message",
            "message_ts": "1548261231.000200",
            "channel_id": "CBR2V3XEX",
        },
        "trigger_id": "12321423423.333649436676",
        "channel": {"id": "CBR2V3XEX", "name": "review-updates"},
        "response_url": "https://hooks.slack.com/actions/AABA1ABCD/1232321423432/D09",
        "actions": [
            {
                "action_id": "choice-0",
                "block_id": "reply-7",
                "text": {"type": "plain_text", "text": "Small"},
                "value": "small",
                "type": "button",
                "action_ts": "1548426417.840180",
            }
        ],
    }
    found = only(form_of("slack", {"payload": json.dumps(payload)}))
    assert found.payload == {"choice": "small", "reply": 7}
    assert (found.user, found.conversation) == ("UA8RXUSPL", "CBR2V3XEX")
    closed = {**payload, "type": "view_closed", "actions": "none"}
    assert not parse(form_of("slack", {"payload": json.dumps(closed)})).messages


def test_slack_sends_files() -> None:
    file = {
        "id": "F1",
        "name": "a.pdf",
        "mimetype": "application/pdf",
        "url_private": "https://f/1",
    }
    found = only(slack_event(subtype="file_share", text="", files=[file]))
    expected = {"id": "F1", "name": "a.pdf", "type": "application/pdf", "url": "https://f/1"}
    assert found.payload == {"files": [expected]}


# Telegram


def test_telegram_shows_that_the_bot_types() -> None:
    """In the answer to the webhook, which may be a call."""
    answer = json.loads(parse(message("telegram")).answer.body)
    assert (answer["method"], answer["action"]) == ("sendChatAction", "typing")


@pytest.mark.parametrize(
    ("data", "payload"), [("small", {"choice": "small"}), ("#3", {"text": "3"})]
)
def test_telegram_tells_which_button_was_pressed(data: str, payload: dict[str, str]) -> None:
    update = {
        "update_id": 10_000,
        "callback_query": {
            "id": "4382bfdwdsb323b2d9",
            "from": {"id": 1111111, "is_bot": False, "first_name": "Ann"},
            "message": {"message_id": 1, "date": 0, "chat": {"id": 1111111, "type": "private"}},
            "data": data,
            "inline_message_id": "1234csdbsk4839",
        },
    }
    sent = json_of("telegram", update)
    assert only(sent).payload == payload
    assert json.loads(parse(sent).answer.body)["callback_query_id"] == "4382bfdwdsb323b2d9"


def test_telegram_has_topics_and_pictures() -> None:
    value = json.loads(message("telegram").body)
    value["message"] |= {
        "message_thread_id": 5,
        "is_topic_message": True,
        "caption": "Look",
        "photo": [{"file_id": "small"}, {"file_id": "large"}],
    }
    del value["message"]["text"]
    found = only(json_of("telegram", value))
    assert found.conversation.endswith(":5")
    assert found.payload == {"text": "Look", "files": [{"id": "large", "type": "image/jpeg"}]}


def test_telegram_tells_more_than_messages() -> None:
    assert not parse(json_of("telegram", {"update_id": 1, "poll": {"id": "1"}})).messages


# WhatsApp


@pytest.mark.parametrize("kind", ["button_reply", "list_reply"])
def test_whatsapp_tells_what_was_chosen(kind: str) -> None:
    sent = {
        "from": "16505551234",
        "id": "wamid.1",
        "timestamp": "1749416383",
        "type": "interactive",
        "interactive": {"type": kind, kind: {"id": "small", "title": "Small"}},
    }
    assert only(whatsapp(messages=[sent])).payload == {"choice": "small"}


def test_whatsapp_shows_that_somebody_types() -> None:
    (call,) = parse(message("whatsapp")).courtesies
    body = json.loads(call.body)
    assert (body["status"], body["message_id"]) == ("read", "wamid.1")
    assert body["typing_indicator"] == {"type": "text"}


def test_whatsapp_reports_what_became_of_replies() -> None:
    """By the reference that the reply carried; others are about nothing."""
    shared = {"id": "wamid.9", "timestamp": "1", "recipient_id": "16505551234"}
    statuses = [
        {**shared, "status": "sent", "biz_opaque_callback_data": f"{SESSION}:4"},
        {**shared, "status": "read", "biz_opaque_callback_data": f"{SESSION}:4"},
        {**shared, "status": "delivered"},
        {**shared, "status": "delivered", "biz_opaque_callback_data": "x:y"},
        {
            **shared,
            "status": "failed",
            "biz_opaque_callback_data": f"{SESSION}:5",
            "errors": [{"code": 131026, "title": "Message undeliverable"}],
        },
    ]
    found = parse(whatsapp(statuses=statuses)).receipts
    assert [(one.session, one.number, one.state) for one in found] == [
        (SESSION, 4, "read"),
        (SESSION, 5, "failed"),
    ]
    assert found[1].problem == "131026 Message undeliverable"


def test_whatsapp_of_another_number_is_left_to_its_endpoint() -> None:
    sent = {"from": "1", "id": "wamid.1", "text": {"body": "x"}}
    assert not parse(whatsapp(phone="999", messages=[sent])).messages


# Twilio


def test_twilio_sends_pictures() -> None:
    fields = {"MessageSid": "SM1", "From": "+1", "NumMedia": "1", "Body": ""}
    fields |= {"MediaUrl0": "https://api.twilio.com/m", "MediaContentType0": "image/png"}
    found = only(form_of("twilio", fields))
    assert found.payload == {"files": [{"url": "https://api.twilio.com/m", "type": "image/png"}]}


@pytest.mark.parametrize(
    ("status", "state"), [("delivered", "delivered"), ("undelivered", "failed"), ("queued", None)]
)
def test_twilio_reports_what_became_of_replies(status: str, state: str | None) -> None:
    fields = {"MessageSid": "SM1", "MessageStatus": status, "To": "+1", "From": "+2"}
    found = parse(form_of("twilio", fields, reply=f"{SESSION}:4"))
    assert [one.state for one in found.receipts] == ([state] if state else [])
    assert not found.messages
    assert found.answer.body == b"<Response/>"


# E-mail


def test_a_letter_belongs_to_its_thread() -> None:
    value = json.loads(message("postmark").body)
    value["Headers"] = [
        {"Name": "References", "Value": "<first@example.org> <second@example.org>"},
        {"Name": "In-Reply-To", "Value": "<second@example.org>"},
    ]
    found = only(json_of("postmark", value))
    assert (found.conversation, found.user) == ("<first@example.org>", "ann@example.org")
    assert found.payload == {"text": "Hello", "subject": "Order 17"}
    value["Headers"] = []
    assert only(json_of("postmark", value)).conversation == "ann@example.org"


def test_a_letter_is_reported_as_delivered_or_bounced() -> None:
    for kind, state in (("Delivery", "delivered"), ("Bounce", "failed"), ("SpamComplaint", None)):
        value = {
            "RecordType": kind,
            "MessageID": "1",
            "Metadata": {"holdfast-reply": f"{SESSION}:3"},
        }
        found = parse(json_of("postmark", value)).receipts
        assert [one.state for one in found] == ([state] if state else [])


# Programs


def test_a_program_names_its_message_or_the_webhook_does() -> None:
    body = {"conversation": "c", "user": "ann", "payload": {"choice": "yes"}, "kind": "event"}
    found = only(json_of("webhook", body))
    assert (found.id, found.kind, found.payload) == ("msg_1", "event", {"choice": "yes"})
    with pytest.raises(InvalidInput, match="id"):
        parse(json_of("http", body))
    with pytest.raises(InvalidInput):
        parse(json_of("webhook", {**body, "tenant": "other"}))


def test_a_form_of_many_fields_is_refused() -> None:
    provider, channel = channel_of("twilio")
    body = urlencode({f"f{number}": "x" for number in range(1_000)}).encode()
    with pytest.raises(InvalidInput):
        provider.parse(channel, Sent("twilio", body, form=True).request())
