"""Webhooks: signatures, addresses, and the execution that delivers one."""

from __future__ import annotations

import pytest

from holdfast.errors import InvalidInput, InvalidToken
from holdfast.model.urls import check_url
from holdfast.model.waitpoints import NewWaitpoint
from holdfast.model.webhooks import Message, delivery, headers, secret_of, verify

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105 - of the specification
BODY = b'{"test": 2432232314}'
SENT_S = 1614265330


def test_the_signature_of_the_specification() -> None:
    """The example of Standard Webhooks, so that receivers can use any of its libraries."""
    signed = headers([SECRET], "msg_p5jXN8AQM9LWM0D4loKWxJek", SENT_S, BODY)
    assert signed["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_receiver_verifies() -> None:
    """With the old secret and with the new; not another body, id, time or secret."""
    old, new = secret_of(b"old", "acme"), secret_of(b"new", "acme")
    signed = headers([new, old], "m1", SENT_S, BODY)
    for secret in (old, new):
        assert verify(secret, signed, BODY, SENT_S + 300) == "m1"
        assert verify(secret, {k.title(): v for k, v in signed.items()}, BODY, SENT_S) == "m1"
    for secret, sent, body, now in (
        (secret_of(b"new", "other"), signed, BODY, SENT_S),
        (new, signed, BODY + b" ", SENT_S),
        (new, {**signed, "webhook-id": "m2"}, BODY, SENT_S),
        (new, {**signed, "webhook-timestamp": str(SENT_S + 1)}, BODY, SENT_S),
        (new, signed, BODY, SENT_S + 301),
        (new, {}, BODY, SENT_S),
    ):
        with pytest.raises(InvalidToken):
            verify(secret, sent, body, now)
    with pytest.raises(InvalidInput):
        verify("whsec_?", signed, BODY, SENT_S)


def test_a_delivery_is_named_after_what_it_announces() -> None:
    """The same each time, so that it is created once."""
    message = Message(what="waitpoint", id="acme=x1~w3")
    item = delivery(message, "acme")
    assert (item.id, item.tenant, item.kind) == ("acme=x1~~h3", "acme", "holdfast.webhook")
    assert item == delivery(message, "acme")
    ended = delivery(Message(what="graph", id="acme=g1", ended_ms=7), "acme")
    assert ended.id == "acme=g1~~e7"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com/x",
        "ftp://example.com/",
        "https:///x",
        "https://user:secret@example.com/",
        "https://example.com:port/",
        "https://example.com/\n",
        f"https://example.com/{'x' * 2_048}",
        7,
    ],
)
def test_addresses_that_are_none(url: object) -> None:
    """The error does not repeat an address, which may have a secret in it."""
    with pytest.raises(InvalidInput) as raised:
        check_url("on_open", url)
    assert "secret" not in str(raised.value)
    with pytest.raises(InvalidInput):
        NewWaitpoint(name="gate", on_open=url)  # type: ignore[arg-type]


def test_an_address_is_not_shown() -> None:
    """Addresses of chat systems are secrets."""
    item = NewWaitpoint(name="gate", on_open="https://hooks.example/T1/secret")
    assert "secret" not in repr(item)
