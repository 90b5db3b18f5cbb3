"""Packs in the store: what was uploaded, and by whom it is signed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from holdfast.model import bounds, checks
from holdfast.model.envs import public_key

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}\Z")
_MOST_SIGNERS = 64


def digest(field: str, value: object) -> str:
    """Check a digest: `sha256:` and 64 hexadecimal digits."""
    if not isinstance(value, str) or not _DIGEST.match(value):
        checks.refuse(field, "must be sha256: and 64 hexadecimal digits", value)
    return value


def digest_of(data: bytes) -> str:
    """Return the digest of bytes."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PackEntries:
    """What messages can start in a pack."""

    #: The id of the pack.
    pack: str
    #: The flow that is reached without naming one; None if there are several and none is named.
    entry: str | None = None
    #: The types of the flows that a message can start, by id.
    flows: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PackUpload:
    """A pack whose archive was read and found sound: see `holdfast.host.packs`."""

    id: str
    version: str
    #: Of the manifest, and so of every file; signatures do not change it.
    digest: str
    archive: bytes
    #: The public keys whose signatures were verified.
    signers: tuple[str, ...] = ()
    #: As in PackEntries.
    entry: str | None = None
    flows: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        checks.name("id", self.id)
        for name in (*self.flows, *(() if self.entry is None else (self.entry,))):
            checks.name("flow", name)
        checks.text("version", self.version, bounds.NAME_CHARS, empty=False)
        digest("digest", self.digest)
        checks.payload("archive", self.archive, bounds.PACK_BYTES)
        signers = checks.names("signers", self.signers, _MOST_SIGNERS, check=public_key)
        object.__setattr__(self, "signers", signers)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPack:
    """A pack that was uploaded."""

    digest: str
    id: str
    version: str
    tenant: str
    #: The digest of the archive, which has the signatures.
    archive: str
    #: Of the archive, in bytes.
    size: int
    signers: tuple[str, ...]
    uploaded_at: datetime
