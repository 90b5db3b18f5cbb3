"""Packs: folders and archives of flows, components and assets, with digests and signatures."""

from __future__ import annotations

from holdfast.host.packs.keys import PrivateKey, PublicKey
from holdfast.host.packs.packs import (
    Bundle,
    Pack,
    build,
    bundle,
    load,
    load_archive,
    load_folder,
    read_archive_file,
    sign,
    upload_of,
)
from holdfast.host.packs.problems import Problem
from holdfast.host.packs.signatures import Origin, Trust, Verdict

__all__ = [
    "Bundle",
    "Origin",
    "Pack",
    "PrivateKey",
    "Problem",
    "PublicKey",
    "Trust",
    "Verdict",
    "build",
    "bundle",
    "load",
    "load_archive",
    "load_folder",
    "read_archive_file",
    "sign",
    "upload_of",
]
