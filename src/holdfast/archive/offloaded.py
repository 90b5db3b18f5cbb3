"""Payloads that are kept in the storage of the archive, and references to them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from holdfast.errors import BackendFailed, HoldfastError, InvalidRecord
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


async def fetch_any(
    places: Sequence[ObjectStore], payload: bytes, failed: HoldfastError | None = None
) -> bytes:
    """Return the payload behind a reference from the first storage that has it.

    `failed` is the answer of one that was asked before.
    """
    for objects in places:
        try:
            return await fetch(objects, payload)
        except BackendFailed as error:
            failed = error
        except InvalidRecord as error:
            failed = failed or error
    if failed is None:
        key = references.decode(payload).key
        failed = InvalidRecord(f"{key} is in no archive of this store", object=key)
    raise failed
