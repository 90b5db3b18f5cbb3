"""Payloads that are kept in the storage of the archive, and references to them."""

from __future__ import annotations

import hashlib

from holdfast.errors import InvalidRecord
from holdfast.fencing.objects import ObjectStore
from holdfast.model import references


async def fetch(objects: ObjectStore, payload: bytes) -> bytes:
    """Return the payload behind a reference, or the payload itself if it is not a reference."""
    if not references.is_reference(payload):
        return payload
    reference = references.decode(payload)
    stored = await objects.get(reference.key)
    if stored is None or hashlib.sha256(stored.body).hexdigest() != reference.sha256:
        message = f"{reference.key} in {objects.name} is missing or damaged"
        raise InvalidRecord(message, object=reference.key)
    return stored.body
