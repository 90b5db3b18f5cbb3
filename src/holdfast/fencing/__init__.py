"""Fenced single-writer leases over object storage, and manifests that only their holders change.

async with WriterLease(objects, "reports/main") as lease:
    writer = await FencedManifest(objects, "reports/main").open(lease)
    name = await writer.put(b"...")
    await writer.commit(add={name: {"rows": 10}})
"""

from holdfast.fencing.folder import FolderObjects
from holdfast.fencing.lease import LeaseState, WriterLease
from holdfast.fencing.leases import Leases
from holdfast.fencing.manifest import FencedManifest, Snapshot
from holdfast.fencing.memory import MemoryObjects
from holdfast.fencing.objects import ObjectStore
from holdfast.fencing.urls import open_objects
from holdfast.fencing.writer import ManifestWriter
from holdfast.model.writer_leases import Ask, Grant, LeaseRecord, Token

__all__ = [
    "Ask",
    "FencedManifest",
    "FolderObjects",
    "Grant",
    "LeaseRecord",
    "LeaseState",
    "Leases",
    "ManifestWriter",
    "MemoryObjects",
    "ObjectStore",
    "Snapshot",
    "Token",
    "WriterLease",
    "open_objects",
]
