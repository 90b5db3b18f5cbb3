"""Sealed payloads: the one place where payloads become ciphertext, and plaintext again.

A sealed payload starts with a marker, the field that it was sealed for, and the id of its key. It
opens only in the same field of the same scope: an execution, a session, or a tenant. Payloads that
were stored before there was a codec have no marker and are returned as they are.

There are two forms. Bytes are for values that stand alone. Tokens are for values that the store
puts into a text, such as a message in the input of a conversation; they are bytes in base64 between
two control characters, which no JSON contains.
"""

from __future__ import annotations

import base64
import binascii
import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, final

import msgspec

from holdfast.errors import PayloadUnreadable
from holdfast.model import codec as codecs
from holdfast.model import references
from holdfast.model.codec import Codec

MARK: Final = references.SEALED
_TOKEN: Final = references.TOKEN
_EDGE: Final = _TOKEN[:1]
_MARKS: Final = (MARK, _TOKEN)
_TOKENS: Final = re.compile(rb"\x01hf1:([A-Za-z0-9+/=]*)\x01")

#: The type of an error stays readable: policies name it.
_PLAIN_IN_ERROR: Final = "type"


def is_sealed(payload: bytes) -> bool:
    """Whether something of a payload is sealed."""
    return payload.startswith(MARK) or _has_token(payload)


def _has_token(payload: bytes) -> bool:
    # The search for one byte, which few payloads contain, is several times faster.
    return _EDGE in payload and _TOKEN in payload


def kids_in(payload: bytes) -> Iterator[str]:
    """Iterate over the ids of the keys that a payload needs."""
    if payload.startswith(MARK):
        yield _split(payload[len(MARK) :])[1]
    else:
        for match in _TOKENS.finditer(payload):
            yield _split(_decoded(match[1]))[1]


@final
class Sealing:
    """Seals and opens payloads with a codec; without one, payloads stay as they are."""

    def __init__(self, codec: Codec | None = None) -> None:
        self.codec = codec
        #: The codec, unless it only opens.
        self.sealer: Codec | None = codec if codec is not None and codec.seals else None

    # Sealing

    def seal(self, payload: bytes, field: str, scope: str) -> bytes:
        """Return a payload as it is stored alone."""
        if self.sealer is None:
            return payload
        return MARK + self._sealed(self.sealer, payload, field, scope)

    def seal_once(self, payload: bytes, field: str, scope: str) -> bytes:
        """Return an input or a result as it is stored alone, unless it is in that form already.

        Entry points refuse those that pretend to be.
        """
        if self.sealer is None or payload.startswith(_MARKS) or references.is_reference(payload):
            return payload
        return MARK + self._sealed(self.sealer, payload, field, scope)

    def seal_token(self, payload: bytes, field: str, scope: str) -> bytes:
        """Return a payload as it is stored inside a text."""
        if self.sealer is None:
            return payload
        sealed = self._sealed(self.sealer, payload, field, scope)
        return _TOKEN + base64.b64encode(sealed) + _EDGE

    def seal_text(self, text: str, field: str, scope: str) -> str:
        """Return a text as it is stored inside another one."""
        if self.sealer is None:
            return text
        return self.seal_token(text.encode(), field, scope).decode()

    def seal_error(self, encoded: bytes, execution_id: str) -> bytes:
        """Return an error in JSON with everything sealed but its type."""
        if self.sealer is None:
            return encoded
        error: dict[str, Any] = msgspec.json.decode(encoded)
        rest = {name: value for name, value in error.items() if name != _PLAIN_IN_ERROR}
        token = self.seal_token(msgspec.json.encode(rest), "error", execution_id)
        return msgspec.json.encode({"type": error["type"], "sealed": token.decode()})

    @staticmethod
    def _sealed(codec: Codec, payload: bytes, field: str, scope: str) -> bytes:
        kid, sealed = codec.seal(payload, _about(field, scope))
        head = field.encode(), kid.encode()
        return b"".join([bytes([len(head[0])]), head[0], bytes([len(head[1])]), head[1], sealed])

    # Opening

    def open(self, payload: bytes, **scopes: str) -> bytes:
        """Return a payload in plain form; `scopes` says which fields it may be of, and where.

        Raises PayloadUnreadable.
        """
        if payload.startswith(MARK):
            return self._opened(payload[len(MARK) :], scopes)
        if _has_token(payload):
            return _TOKENS.sub(lambda match: self._opened(_decoded(match[1]), scopes), payload)
        return payload

    def open_text(self, text: str, **scopes: str) -> str:
        """Return a text in plain form, or a sentence that says why it cannot be read here.

        For texts beside others, which are shown even if this one cannot be.
        """
        try:
            return self.open(text.encode(), **scopes).decode()
        except PayloadUnreadable as error:
            return f"({error.message})"

    def open_error(self, error: Mapping[str, Any], execution_id: str) -> dict[str, Any]:
        """Return an error in plain form, or with a message that says why it cannot be read here."""
        token = error.get("sealed")
        if not isinstance(token, str):
            return dict(error)
        try:
            rest = msgspec.json.decode(self.open(token.encode(), error=execution_id))
        except PayloadUnreadable as unreadable:
            rest = {"message": f"({unreadable.message})"}
        return {"type": error["type"], **rest}

    def errors_of(self, execution_id: str) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
        """Return what opens the errors of an execution."""
        return functools.partial(self.open_error, execution_id=execution_id)

    def _opened(self, sealed: bytes, scopes: Mapping[str, str]) -> bytes:
        field, kid, rest = _split(sealed)
        if self.codec is None:
            raise codecs.missing(kid)
        if field not in scopes:
            message = f"the payload was moved: it was sealed as {field}"
            raise PayloadUnreadable(message, kid=kid)
        return self.codec.open(kid, rest, _about(field, scopes[field]))

    # Digests

    def digests(self, digest: str) -> Sequence[str]:
        """Return the forms in which a digest may be stored, the one to store first.

        A digest of a short payload could be guessed, so it is made with a key. Those of older
        keys, and the digest itself, recognise what was stored before.
        """
        if self.codec is None:
            return (digest,)
        keyed = self.codec.digests(digest.encode())
        return (digest, *keyed) if self.sealer is None else (*keyed, digest)


def _about(field: str, scope: str) -> bytes:
    return f"holdfast\0{field}\0{scope}".encode()


def _split(sealed: bytes) -> tuple[str, str, bytes]:
    """Return the field, the id of the key, and the rest; raises PayloadUnreadable."""
    try:
        after_field = 1 + sealed[0]
        after_kid = after_field + 1 + sealed[after_field]
        field, kid = sealed[1:after_field].decode(), sealed[after_field + 1 : after_kid].decode()
    except (IndexError, UnicodeDecodeError):
        raise PayloadUnreadable("the payload was altered: its head is damaged", kid="") from None
    return field, kid, sealed[after_kid:]


def _decoded(token: bytes) -> bytes:
    try:
        return base64.b64decode(token, validate=True)
    except binascii.Error:
        raise PayloadUnreadable("the payload was altered: it is no base64", kid="") from None
