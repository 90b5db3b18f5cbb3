"""Webhooks: calls to addresses of users, signed as the Standard Webhooks specification says.

    webhook-id          the same for every try of one message
    webhook-timestamp   when this try was sent, in seconds
    webhook-signature   `v1,` and the HMAC-SHA256 of ID.TIMESTAMP.BODY in Base64; one for each key

A delivery is an execution of a kind of its own: it is retried, listed, explained and replayed as
any other, and a failed one is a dead letter.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from holdfast.errors import InvalidToken
from holdfast.model import bounds, checks
from holdfast.model.executions import NewExecution
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.model.waitpoints import parse_waitpoint_id

KIND = "holdfast.webhook"
LANE = "holdfast.webhooks"
#: A message is a dead letter after this many tries, about a day after the first.
POLICY = RetryPolicy(
    max_attempts=20, backoff=Backoff(initial_ms=1_000, factor=3, max_ms=7_200_000, jitter=0.2)
)
#: A receiver refuses messages whose timestamp is further away than this.
TOLERANCE_S = 300
#: How much of a very long id a delivery keeps; it begins with the tenant.
_STEM_CHARS = 200
_PREFIX = "whsec_"
_SECONDS = re.compile("[0-9]{1,16}")


Announced = Literal["waitpoint", "execution", "graph"]


class Message(msgspec.Struct, frozen=True):
    """The input of a delivery: what it is about. All the rest is read from the store."""

    what: Announced
    id: str
    #: When the execution or the graph ended, which it may do more than once.
    ended_ms: int = 0


def delivery(message: Message, tenant: str) -> NewExecution:
    """Return the execution that delivers a message; the same for the same message."""
    delivery_id = f"{message.id}~~e{message.ended_ms}"
    if message.what == "waitpoint":
        execution_id, number = parse_waitpoint_id("waitpoint", message.id)
        delivery_id = f"{execution_id}~~h{number}"
    return NewExecution(
        kind=KIND,
        lane=LANE,
        id=_fitting(delivery_id),
        tenant=tenant,
        input=msgspec.json.encode(message),
        retry=POLICY,
        check=False,
        unset=frozenset(),
    )


def _fitting(delivery_id: str) -> str:
    """Return the id of a delivery; that of what has a very long id is shortened."""
    if len(delivery_id) <= bounds.ID_CHARS:
        return delivery_id
    digest = hashlib.blake2b(delivery_id.encode(), digest_size=16).hexdigest()
    return f"{delivery_id[:_STEM_CHARS]}~~{digest}"


def secret_of(signing_key: bytes, tenant: str) -> str:
    """Return the secret of a tenant under a signing key of the store."""
    secret = hmac.digest(signing_key, b"holdfast webhooks\0" + tenant.encode(), "sha256")
    return _PREFIX + b64encode(secret).decode()


def headers(secrets: Iterable[str], message_id: str, at_s: int, body: bytes) -> dict[str, str]:
    """Return the headers of a message, with a signature for each secret."""
    signed = " ".join(_signature(secret, message_id, str(at_s), body) for secret in secrets)
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(at_s),
        "webhook-signature": signed,
    }


def verify(secret: str, received: Mapping[str, str], body: bytes, now_s: float) -> str:
    """Check a message in its receiver; return its id. Raises InvalidToken."""
    lower = {name.lower(): value for name, value in received.items()}
    message_id, at = lower.get("webhook-id", ""), lower.get("webhook-timestamp", "")
    if not _SECONDS.fullmatch(at) or abs(int(at) - now_s) > TOLERANCE_S:
        raise InvalidToken("the timestamp of the webhook is missing or too far away")
    expected = _signature(secret, message_id, at, body).encode()
    signatures = lower.get("webhook-signature", "").split(" ")
    if not any(hmac.compare_digest(expected, one.encode()) for one in signatures):
        raise InvalidToken("the signature of the webhook is not valid")
    return message_id


def _signature(secret: str, message_id: str, at: str, body: bytes) -> str:
    try:
        key = b64decode(secret.removeprefix(_PREFIX), validate=True)
    except (ValueError, binascii.Error):
        checks.refuse("secret", f"must be {_PREFIX} and Base64", "(not shown)")
    signed = hmac.digest(key, f"{message_id}.{at}.".encode() + body, "sha256")
    return f"v1,{b64encode(signed).decode()}"
