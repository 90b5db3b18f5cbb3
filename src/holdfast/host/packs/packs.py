"""Packs: from a folder or an archive, checked; built, signed, and put together."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from holdfast.errors import InvalidInput
from holdfast.host.packs import archive, folder, limits, manifest, paths, reader, signatures
from holdfast.host.packs.definition import Component, Definition, FlowFile, Model, Provider
from holdfast.host.packs.keys import PrivateKey
from holdfast.host.packs.manifest import Manifest
from holdfast.host.packs.problems import Problem, refuse
from holdfast.host.packs.signatures import Origin, Trust, Verdict
from holdfast.model.packs import PackEntries, PackUpload

ENDING = ".hfpack"
T = TypeVar("T")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pack:
    """A pack that was read and checked."""

    definition: Definition
    #: The files without the manifest and the signatures.
    files: Mapping[str, bytes] = field(repr=False)
    manifest: Manifest = field(repr=False)
    verdict: Verdict

    @property
    def id(self) -> str:
        """The id of the pack."""
        return self.definition.id

    @property
    def version(self) -> str:
        """The version of the pack."""
        return self.definition.version

    @property
    def digest(self) -> str:
        """The digest of the pack: of its manifest, and so of every file."""
        return self.manifest.digest

    @property
    def entries(self) -> PackEntries:
        """What messages can start."""
        flows = {one.id: one.type.value for one in self.definition.flows.values() if one.is_entry}
        return PackEntries(pack=self.id, entry=self.definition.entry, flows=flows)

    @property
    def file_name(self) -> str:
        """The name that the archive gets if none is given."""
        return f"{self.id}-{self.version}{ENDING}"


def load_folder(path: Path) -> Pack:
    """Read the folder of a pack; raises InvalidPack. It is unsigned."""
    files = folder.read(path)
    definition = reader.read(files)
    described = manifest.describe(definition.id, definition.version, files)
    return Pack(definition, files, described, Verdict(Origin.UNSIGNED))


def load_archive(data: bytes, trust: Trust, *, quiet: bool = False) -> Pack:
    """Read an archive; raises InvalidPack if it is damaged, unsafe, wrong or not trusted.

    Signatures are checked before the content is looked at. A pack that is accepted without a
    trusted signature is logged, unless the caller is `quiet` because it only looks at the pack.
    """
    files = archive.read(data)
    described = _take_manifest(files)
    signed = files.pop(paths.SIGNATURES, None)
    manifest.check(described, files)
    verdict = signatures.verify(described, signed, trust)
    for name in files:
        paths.check_place(name)
    definition = reader.read(files)
    if (described.id, described.version) != (definition.id, definition.version):
        message = (
            f"the manifest is of {described.id} {described.version}, and pack.yaml says "
            f"{definition.id} {definition.version}"
        )
        refuse(Problem.INVALID_MANIFEST, message)
    if verdict.origin is not Origin.TRUSTED and not quiet:
        _log.warning(
            "the pack %s %s (%s) is %s",
            definition.id,
            definition.version,
            described.digest,
            verdict.origin.value,
        )
    return Pack(definition, files, described, verdict)


def _take_manifest(files: dict[str, bytes]) -> Manifest:
    data = files.pop(paths.MANIFEST, None)
    if data is None:
        message = "the archive has no manifest; make it with `holdfast pack build`"
        refuse(Problem.NO_MANIFEST, message)
    return manifest.decode(data)


def upload_of(data: bytes) -> PackUpload:
    """Return an archive as the store takes it; raises InvalidPack. Any key may have signed it."""
    pack = load_archive(data, signatures.ANYBODY, quiet=True)
    return PackUpload(
        id=pack.id,
        version=pack.version,
        digest=pack.digest,
        archive=data,
        signers=tuple(map(str, pack.verdict.keys)),
        entry=pack.definition.entry,
        flows=pack.entries.flows,
    )


def read_archive_file(path: Path) -> bytes:
    """Return the content of an archive's file; raises InvalidInput, InvalidPack."""
    try:
        with path.open("rb") as file:
            data = file.read(limits.ARCHIVE_BYTES + 1)
    except OSError as error:
        message = f"pack: cannot read {path} ({error.strerror})"
        raise InvalidInput(message, field="pack") from error
    if len(data) > limits.ARCHIVE_BYTES:
        message = f"{path} has more than {limits.ARCHIVE_BYTES} bytes"
        refuse(Problem.TOO_LARGE, message, limit=limits.ARCHIVE_BYTES)
    return data


def load(path: Path, trust: Trust, *, quiet: bool = False) -> Pack:
    """Read a pack: a folder, or the file of an archive."""
    if path.is_dir():
        return load_folder(path)
    return load_archive(read_archive_file(path), trust, quiet=quiet)


def build(pack: Pack) -> bytes:
    """Return the archive of a pack, without signatures: the same bytes for the same files."""
    return archive.write({**pack.files, paths.MANIFEST: pack.manifest.data})


def sign(data: bytes, key: PrivateKey) -> bytes:
    """Return an archive with the signature of a key added; the pack itself is checked first."""
    load_archive(data, signatures.ANYBODY, quiet=True)
    files = archive.read(data)
    described = manifest.decode(files[paths.MANIFEST])
    files[paths.SIGNATURES] = signatures.sign(described, files.get(paths.SIGNATURES), key)
    return archive.write(files)


@dataclass(frozen=True, slots=True)
class Bundle:
    """A main pack with its overlays: what a revision runs.

    Flows, components, providers, models and schedules of all packs count; each of them may use
    the secrets and hosts that its own pack declares. The entry, the welcome flow, the routing and
    what happens while a turn runs are the main pack's.
    """

    main: Pack
    overlays: tuple[Pack, ...]
    flows: Mapping[str, tuple[Pack, FlowFile]]
    components: Mapping[str, tuple[Pack, Component]]
    providers: Mapping[str, tuple[Pack, Provider]]
    models: Mapping[str, tuple[Pack, Model]]

    @property
    def packs(self) -> tuple[Pack, ...]:
        """The main pack and its overlays."""
        return (self.main, *self.overlays)


def bundle(main: Pack, overlays: Sequence[Pack] = ()) -> Bundle:
    """Put a main pack and its overlays together; ids that two of them have are refused."""
    packs = (main, *overlays)
    _merge("pack", [(pack, {pack.id: pack}) for pack in packs])
    described = [(pack, pack.definition) for pack in packs]
    return Bundle(
        main,
        tuple(overlays),
        flows=_merge("flow", [(pack, one.flows) for pack, one in described]),
        components=_merge("component", [(pack, one.components) for pack, one in described]),
        providers=_merge(
            "provider",
            [(pack, {each.type: each for each in one.providers}) for pack, one in described],
        ),
        models=_merge("model", [(pack, one.models) for pack, one in described]),
    )


def _merge(kind: str, parts: Sequence[tuple[Pack, Mapping[str, T]]]) -> dict[str, tuple[Pack, T]]:
    merged: dict[str, tuple[Pack, T]] = {}
    for pack, things in parts:
        for name, thing in things.items():
            if name in merged:
                first = merged[name][0]
                message = (
                    f"the {kind} `{name}` is in {first.id} {first.version} and again in "
                    f"{pack.id} {pack.version}; an overlay adds, it does not replace"
                )
                refuse(Problem.DUPLICATE_ID, message, kind=kind, id=name)
            merged[name] = (pack, thing)
    return merged
