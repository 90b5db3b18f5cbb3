"""Signatures of a pack, and whom to trust."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from holdfast.errors import InvalidInput
from holdfast.host.packs import limits
from holdfast.host.packs.keys import PrivateKey, PublicKey, decoded
from holdfast.host.packs.manifest import Manifest
from holdfast.host.packs.problems import Problem, refuse

FORMAT = 1
#: Signed before the manifest, so that the signature of a pack fits nothing else.
_CONTEXT = b"holdfast pack 1\n"
_SIGNATURE_BYTES = 64


class _Signature(msgspec.Struct, forbid_unknown_fields=True):
    key: str
    signature: str


class _Form(msgspec.Struct, forbid_unknown_fields=True):
    format: int
    signatures: list[_Signature]


class Origin(StrEnum):
    """What is known about the author of a pack."""

    #: A trusted key signed it.
    TRUSTED = "trusted"
    #: It is signed, but by no key that is trusted.
    UNTRUSTED = "untrusted"
    UNSIGNED = "unsigned"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """The trust root of an env: whose packs it accepts."""

    keys: frozenset[PublicKey] = frozenset()
    #: Also accept packs that no trusted key has signed; their origin says so.
    unsigned: bool = False


#: For looking at a pack, not for running it.
ANYBODY = Trust(unsigned=True)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The origin of a pack, and the keys that signed it: the trusted ones, or else all."""

    origin: Origin
    keys: tuple[PublicKey, ...] = ()


def sign(manifest: Manifest, data: bytes | None, key: PrivateKey) -> bytes:
    """Return the list of signatures with that of a key, besides those that there are."""
    signatures = dict(decode(data)) if data is not None else {}
    signatures[key.public] = key.sign(_CONTEXT + manifest.data)
    if len(signatures) > limits.SIGNATURES:
        message = f"a pack has at most {limits.SIGNATURES} signatures"
        raise InvalidInput(message, field="key")
    return _encode(signatures)


def _encode(signatures: Mapping[PublicKey, bytes]) -> bytes:
    listed = [
        _Signature(str(key), base64.b64encode(signatures[key]).decode())
        for key in sorted(signatures, key=str)
    ]
    return msgspec.json.encode(_Form(FORMAT, listed))


def decode(data: bytes) -> dict[PublicKey, bytes]:
    """Read the list of signatures; it must be exactly as it would be written."""
    try:
        form = msgspec.json.decode(data, type=_Form)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        refuse(Problem.INVALID_SIGNATURES, f"the list of signatures is not valid ({error})")
    if len(form.signatures) > limits.SIGNATURES:
        refuse(Problem.INVALID_SIGNATURES, f"the pack has over {limits.SIGNATURES} signatures")
    signatures = {}
    for entry in form.signatures:
        signature = decoded(entry.signature)
        if signature is None or len(signature) != _SIGNATURE_BYTES:
            refuse(Problem.INVALID_SIGNATURES, "a signature is not valid")
        try:
            signatures[PublicKey.parse(entry.key)] = signature
        except InvalidInput as error:
            refuse(Problem.INVALID_SIGNATURES, f"a signature names no key ({error.message})")
    if not signatures or form.format != FORMAT or _encode(signatures) != data:
        message = "the list of signatures is not written as `holdfast pack sign` writes it"
        refuse(Problem.INVALID_SIGNATURES, message)
    return signatures


def verify(manifest: Manifest, data: bytes | None, trust: Trust) -> Verdict:
    """Check the signatures of a pack. A wrong signature is refused, trusted or not."""
    if data is None:
        if not trust.unsigned:
            message = (
                f"{manifest.id} {manifest.version} is not signed; sign it with "
                "`holdfast pack sign`, or allow unsigned packs"
            )
            refuse(Problem.UNSIGNED, message)
        return Verdict(Origin.UNSIGNED)
    signatures = decode(data)
    for key, signature in signatures.items():
        if not key.verifies(signature, _CONTEXT + manifest.data):
            refuse(Problem.WRONG_SIGNATURE, f"the signature of {key} is not of this pack")
    trusted = tuple(key for key in signatures if key in trust.keys)
    if trusted:
        return Verdict(Origin.TRUSTED, trusted)
    if not trust.unsigned:
        keys = ", ".join(map(str, signatures))
        message = f"{manifest.id} {manifest.version} is signed by {keys}, which is not trusted"
        refuse(Problem.UNTRUSTED, message, keys=[str(key) for key in signatures])
    return Verdict(Origin.UNTRUSTED, tuple(signatures))
