"""Payloads that are kept in the storage of the archive, with a reference in their place."""

from __future__ import annotations

import hashlib

from holdfast.errors import InvalidRecord
from holdfast.fencing.objects import ObjectStore
from holdfast.model import references


async def fetch(objects: ObjectStore, payload: bytes) -> bytes:
    """Return what a reference stands for, or the payload itself if it is none."""
    if not references.is_reference(payload):
        return payload
    reference = references.decode(payload)
    found = await objects.get(reference.key)
    if found is None or hashlib.sha256(found.body).hexdigest() != reference.sha256:
        message = f"{reference.key} in {objects.name} is missing or damaged"
        raise InvalidRecord(message, object=reference.key)
    return found.body
