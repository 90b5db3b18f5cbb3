"""Tokens: signed capabilities to answer one waitpoint.

    hf1.KID.GRANT.SIGNATURE

The grant names the waitpoint (and so the execution), the time of creation and the rights of the
token; the signature is HMAC-SHA256 over everything before it. A token is verified without any data
of the waitpoint, so that a stranger learns nothing about it.
"""

from __future__ import annotations

import binascii
import contextlib
import hashlib
import hmac
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from holdfast.errors import InvalidToken
from holdfast.model import bounds, checks

_VERSION = "hf1"
_FORM = re.compile(r"hf1\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{43})\Z")
_KID = re.compile(r"[A-Za-z0-9_-]+\Z")


class Grant(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The rights of a token."""

    waitpoint: str
    name: str
    made_ms: int
    until_ms: int | None = None
    signals: tuple[str, ...] = ()
    uses: int | None = None
    #: The only person who may answer with it, at a waitpoint that has a token for each person.
    person: str = ""


class Token:
    """A token. Its repr shows only its key and its fingerprint; `reveal` returns the token.

    It is not a dataclass, so that no encoder treats it as data.
    """

    __slots__ = ("_text", "fingerprint", "kid")

    def __init__(self, kid: str, fingerprint: str, text: str) -> None:
        self.kid: str = kid
        self.fingerprint: str = fingerprint
        self._text = text

    def reveal(self) -> str:
        """Return the token itself, for the person who may answer."""
        return self._text

    def __repr__(self) -> str:
        return f"<token {self.fingerprint} of key {self.kid}>"


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A key of the ring. Its secret is never shown."""

    kid: str
    secret: bytes = field(repr=False)
    #: When the grace period of a retired key ends; None for the current key.
    until_ms: int | None = None

    def fingerprint(self) -> str:
        """Return a value that distinguishes secrets without revealing them."""
        return hashlib.sha256(b"holdfast key\0" + self.secret).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class KeyRing:
    """The current signing keys of the store."""

    current: str
    previous: str | None
    keys: Mapping[str, SigningKey]

    def sign(self, grant: Grant) -> Token:
        """Make a token, signed with the current key."""
        key = self.keys[self.current]
        head = f"{_VERSION}.{key.kid}.{_encode(_written(grant))}"
        return Token(key.kid, fingerprint(grant), f"{head}.{_signature(head, key.secret)}")

    def verify(self, text: object, waitpoint_id: str) -> tuple[Grant, SigningKey]:
        """Return the grant of a genuine token of this waitpoint, and the key that signed it.

        The store decides by its clock whether the grace period of that key is over.
        """
        match = _FORM.match(text) if isinstance(text, str) else None
        if match is None or len(match.string) > bounds.TOKEN_CHARS:
            raise InvalidToken(_INVALID)
        kid, grant_text, signature = match.groups()
        key = self.keys.get(kid)
        head, _, _ = match.string.rpartition(".")
        # An unknown kid costs the same work.
        expected = _signature(head, key.secret if key else b"unknown")
        genuine = hmac.compare_digest(expected.encode(), signature.encode())
        if key is None or not genuine:
            raise InvalidToken(_INVALID)
        grant = _decode(grant_text)
        if grant.waitpoint != waitpoint_id:
            raise InvalidToken(_INVALID)
        return grant, key


_INVALID = "the token is not valid here"


def waitpoint_of(text: str) -> str | None:
    """Return the waitpoint that a token names, without verifying the token."""
    grant = _claimed(text)
    return None if grant is None else grant.waitpoint


def person_of(text: str) -> str:
    """Return the person that a token names, empty if none, without verifying the token."""
    grant = _claimed(text)
    return "" if grant is None else grant.person


def _claimed(text: str) -> Grant | None:
    match = _FORM.match(text) if len(text) <= bounds.TOKEN_CHARS else None
    try:
        return None if match is None else _decode(match[2])
    except InvalidToken:
        return None


def received(text: str) -> Token:
    """Return a token that a server sent, without verifying it."""
    match = _FORM.match(text)
    if match is None:
        raise InvalidToken(_INVALID)
    return Token(match[1], fingerprint(_decode(match[2])), text)


def fingerprint(grant: Grant) -> str:
    """Return the fingerprint of a token for lists and logs, the same for every signing key."""
    return hashlib.sha256(b"holdfast token\0" + _written(grant)).hexdigest()[:16]


def check_kid(value: object) -> str:
    """Check the name of a key."""
    if not isinstance(value, str) or not _KID.match(value) or len(value) > bounds.KID_CHARS:
        most = bounds.KID_CHARS
        checks.refuse("kid", f"must have 1 to {most} characters of A-Z a-z 0-9 _ -", value)
    return value


def check_secret(value: object) -> bytes:
    """Check a secret in hex; it is never shown, not even in an error."""
    secret = b""
    if isinstance(value, str) and value.isascii():
        with contextlib.suppress(ValueError):
            secret = binascii.unhexlify(value)
    if not _LEAST_SECRET_BYTES <= len(secret) <= bounds.SECRET_BYTES:
        problem = f"must be {_LEAST_SECRET_BYTES} to {bounds.SECRET_BYTES} bytes in hex"
        checks.refuse("secret_hex", problem, "(not shown)")
    return secret


_LEAST_SECRET_BYTES = 16


def _written(grant: Grant) -> bytes:
    """Return the JSON of a grant. Without a person it ends earlier, as older versions expect it."""
    values = msgspec.structs.astuple(grant)
    return msgspec.json.encode(values if grant.person else values[:-1])


def _signature(head: str, secret: bytes) -> str:
    return _encode(hmac.digest(secret, head.encode(), "sha256"))


def _encode(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> Grant:
    try:
        data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        return msgspec.json.decode(data, type=Grant)
    except (ValueError, msgspec.MsgspecError) as error:
        raise InvalidToken(_INVALID) from error
