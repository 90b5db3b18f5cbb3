"""The manifest of a pack: its id and version, and a digest of every file.

The digest of a pack is that of its manifest, so it covers every file and no signature: a pack has
the same digest before and after it is signed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from holdfast.host.packs import limits, paths
from holdfast.host.packs.problems import Problem, refuse

FORMAT = 1
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class _File(msgspec.Struct, forbid_unknown_fields=True):
    digest: str
    size: int


class _Form(msgspec.Struct, forbid_unknown_fields=True):
    """The fields in the order in which they are written, which is that of the alphabet."""

    files: dict[str, _File]
    format: int
    id: str
    version: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a pack consists of."""

    id: str
    version: str
    #: The digest and the size of each file.
    files: Mapping[str, tuple[str, int]]
    #: The manifest as it is signed.
    data: bytes

    @property
    def digest(self) -> str:
        """The digest of the pack."""
        return digest_of(self.data)


def digest_of(data: bytes) -> str:
    """Return the digest of bytes, as manifests and replies show it."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def describe(pack_id: str, version: str, files: Mapping[str, bytes]) -> Manifest:
    """Return the manifest of files."""
    listed = {name: (digest_of(files[name]), len(files[name])) for name in sorted(files)}
    return Manifest(pack_id, version, listed, _encode(pack_id, version, listed))


def _encode(pack_id: str, version: str, files: Mapping[str, tuple[str, int]]) -> bytes:
    form = _Form(
        files={name: _File(*files[name]) for name in sorted(files)},
        format=FORMAT,
        id=pack_id,
        version=version,
    )
    return msgspec.json.encode(form)


def decode(data: bytes) -> Manifest:
    """Read a manifest; it must be exactly as it would be written."""
    if len(data) > limits.MANIFEST_BYTES:
        refuse(Problem.TOO_LARGE, f"the manifest has {len(data)} bytes")
    try:
        form = msgspec.json.decode(data, type=_Form)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        refuse(Problem.INVALID_MANIFEST, f"the manifest is not valid ({error})")
    if form.format != FORMAT:
        message = f"the pack has the format {form.format}, and this version reads {FORMAT}"
        refuse(Problem.INVALID_MANIFEST, message, format=form.format)
    files = {name: (file.digest, file.size) for name, file in form.files.items()}
    for name, (digest, size) in files.items():
        paths.check(name)
        if not _DIGEST.fullmatch(digest) or size < 0:
            message = f"the manifest has no valid digest of `{name}`"
            refuse(Problem.INVALID_MANIFEST, message, file=name)
    if _encode(form.id, form.version, files) != data:
        message = "the manifest is not written as `holdfast pack build` writes it"
        refuse(Problem.INVALID_MANIFEST, message)
    return Manifest(form.id, form.version, files, data)


def check(manifest: Manifest, files: Mapping[str, bytes]) -> None:
    """Refuse files that are not those of the manifest, all of them and no others."""
    for name in files:
        if name not in manifest.files:
            message = f"the archive has the file `{name}`, which the manifest does not list"
            refuse(Problem.EXTRA_FILE, message, file=name)
    for name, (digest, size) in manifest.files.items():
        if name not in files:
            message = f"the archive lacks the file `{name}`, which the manifest lists"
            refuse(Problem.MISSING_FILE, message, file=name)
        if len(files[name]) != size or digest_of(files[name]) != digest:
            message = f"`{name}` has another content than the manifest says"
            refuse(Problem.WRONG_DIGEST, message, file=name)
