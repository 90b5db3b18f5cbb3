"""Webhooks are accepted only if their provider signed them, recently."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holdfast.channels import NAMES, Request
from holdfast.errors import InvalidInput, InvalidSignature
from tests.support.channels import SECRETS, Sent, channel_of, form_of, late, message

EVERY = NAMES
#: Those whose signature has a time.
TIMED = ("slack", "webhook")
#: Those whose signature covers the body.
SIGNING = ("slack", "twilio", "webhook", "whatsapp")


def accepts(sent: Sent, request: Request | None = None) -> bool:
    provider, channel = channel_of(sent.provider)
    try:
        provider.verify(channel, request or sent.request())
    except (InvalidSignature, InvalidInput):
        return False
    return True


@pytest.mark.parametrize("name", EVERY)
def test_a_signed_webhook_is_accepted(name: str) -> None:
    assert accepts(message(name))


@pytest.mark.parametrize("name", EVERY)
def test_a_forged_webhook_is_refused(name: str) -> None:
    """Without its header, with that of another secret, and with one that is not text."""
    sent = message(name)
    genuine = sent.request()
    others = {secret: value[::-1] for secret, value in SECRETS[name].items()}
    if name == "webhook":
        others = {"secret": "whsec_" + "QUJD" * 8}
    bare = {"content-type": genuine.header("content-type")}
    assert not accepts(sent, replace(genuine, headers=bare))
    assert not accepts(sent, sent.request(others))
    for header, value in genuine.headers.items():
        for forged in ("", "\u00e9", "0", value + "0", value.swapcase()):
            if header != "content-type" and forged != value:
                changed = replace(genuine, headers={**genuine.headers, header: forged})
                assert not accepts(sent, changed), (header, forged)


@pytest.mark.parametrize("name", SIGNING)
def test_a_signature_covers_the_body(name: str) -> None:
    sent = message(name)
    other = message(name, "Goodbye")
    assert not accepts(sent, replace(sent.request(), body=other.body))


@pytest.mark.parametrize("name", TIMED)
def test_a_late_webhook_is_refused(name: str) -> None:
    """A signature holds for five minutes, in both directions."""
    sent = message(name)
    assert accepts(late(sent, 299))
    assert not accepts(late(sent, 301))
    assert not accepts(late(sent, -301))


def test_twilio_signs_its_address() -> None:
    """The query included; a call to another address is refused."""
    sent = form_of("twilio", {"MessageSid": "SM1", "MessageStatus": "sent"}, reply="s1:2")
    assert accepts(sent)
    assert not accepts(
        sent, replace(sent.request(), url="https://bots.example/ingress/local/inbox")
    )


def test_twilio_has_the_documented_signature() -> None:
    """The example of its documentation."""
    provider, channel = channel_of("twilio", url="https://mycompany.com/myapp.php")
    body = (
        b"Digits=1234&To=%2B18005551212&From=%2B14158675309&Caller=%2B14158675309"
        b"&CallSid=CA1234567890ABCDE"
    )
    request = Request(
        url="https://mycompany.com/myapp.php?foo=1&bar=2",
        headers={"x-twilio-signature": "RSOYDt4T1cUTdK1PDd93/VVr8B8="},
        body=body,
    )
    provider.verify(channel, request)


def test_slack_has_the_documented_signature() -> None:
    """The example of its documentation."""
    provider, channel = channel_of("slack")
    body = (
        b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow"
        b"&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner"
        b"&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands"
        b"%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121"
        b".803a0bc887a14d10d2c447fce8b6703c"
    )
    signature = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
    request = Request(
        headers={"x-slack-request-timestamp": "1531420618", "x-slack-signature": signature},
        body=body,
        at_s=1_531_420_620,
    )
    provider.verify(channel, request)


def test_whatsapp_is_challenged_with_the_token() -> None:
    provider, channel = channel_of("whatsapp")
    query = {"hub.mode": "subscribe", "hub.challenge": "1158", "hub.verify_token": "verify-me"}
    assert provider.challenge(channel, Request(method="GET", query=query)).body == b"1158"
    for token in ("", "other"):
        with pytest.raises(InvalidSignature):
            provider.challenge(channel, Request(query={**query, "hub.verify_token": token}))


@pytest.mark.parametrize("name", sorted(set(EVERY) - {"whatsapp"}))
def test_others_are_not_challenged(name: str) -> None:
    provider, channel = channel_of(name)
    with pytest.raises(InvalidSignature):
        provider.challenge(channel, Request(method="GET", query={"hub.challenge": "1"}))
