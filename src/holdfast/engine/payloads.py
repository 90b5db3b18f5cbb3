"""Large inputs and results: kept in the storage of the archive, fetched when they are needed.

The store holds a reference instead. What is set is looked up at most every half minute, and only
for payloads that may be large enough.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from holdfast.errors import BackendFailed, HoldfastError, InvalidRecord, VersionConflict
from holdfast.fencing import places
from holdfast.fencing.objects import ObjectStore
from holdfast.model import references
from holdfast.model.executions import Claim, NewExecution, Outcome
from holdfast.model.references import LEAST_BYTES
from holdfast.store.store import Store

log: logging.Logger = logging.getLogger(__name__)

_LOOK_AGAIN_S = 30.0
#: An execution whose input cannot be fetched now is given back for so long.
_TRY_LATER_MS = 5_000


@dataclass(frozen=True, slots=True)
class _Place:
    """Where payloads are kept, and from which size on."""

    url: str
    objects: ObjectStore
    threshold: int | None


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


class Payloads:
    """Payloads that are kept outside the store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._place: _Place | None = None
        self._look_at = 0.0

    async def _find(self, *, anew: bool = False) -> _Place | None:
        now = asyncio.get_running_loop().time()
        if anew or now >= self._look_at:
            url, threshold = await self._store.archives.offload()
            known = self._place
            if url is None:
                self._place = None
            elif known is None or (known.url, known.threshold) != (url, threshold):
                objects = known.objects if known and known.url == url else places.parse(url)
                self._place = _Place(url, objects, threshold)
            self._look_at = now + _LOOK_AGAIN_S
        return self._place

    async def away(
        self, field: str, tenant: str, payload: bytes, *, is_compared: bool = False
    ) -> bytes:
        """Return what the store keeps of a payload: itself, or a reference if it is large.

        One that may be compared with others is referred to together with a digest of what it
        says. If the object store is in trouble, the payload stays in the store.
        """
        references.check_is_none(field, payload)
        if len(payload) <= LEAST_BYTES:
            return payload
        place = await self._find()
        if place is None or place.threshold is None or len(payload) <= place.threshold:
            return payload
        value = references.value_of(payload) if is_compared else None
        reference = references.reference_to(tenant, payload, value)
        try:
            await place.objects.put_if_absent(reference.key, payload)
        except VersionConflict:
            pass
        except BackendFailed as error:
            log.warning("a large %s stays in the store: %s", field, error)
            return payload
        return reference.encode()

    async def items_away(self, items: Sequence[NewExecution]) -> Sequence[NewExecution]:
        """Put the large inputs of new executions away."""
        if all(len(item.input) <= LEAST_BYTES for item in items):
            return items
        inputs = await asyncio.gather(
            *(
                self.away("input", item.tenant, item.input, is_compared=item.is_named)
                for item in items
            )
        )
        return [
            item if kept is item.input else item.kept_as(kept)
            for item, kept in zip(items, inputs, strict=True)
        ]

    async def back(self, payload: bytes) -> bytes:
        """Return a payload wherever it is; raises BackendFailed or InvalidRecord."""
        if not references.is_reference(payload):
            return payload
        place = await self._find() or await self._find(anew=True)
        if place is None:
            message = "a payload is in an archive that the store no longer names"
            raise InvalidRecord(message)
        return await fetch(place.objects, payload)

    async def outcome_back(self, outcome: Outcome | None) -> Outcome | None:
        """Return an outcome with its result, wherever that is."""
        if outcome is None or not outcome.result:
            return outcome
        result = await self.back(outcome.result)
        return outcome if result is outcome.result else replace(outcome, result=result)

    async def claims_back(self, claims: list[Claim]) -> list[Claim]:
        """Fetch the inputs of claims; those that cannot be fetched now are given back."""
        if not any(references.is_reference(claim.input) for claim in claims):
            return claims
        fetched = await asyncio.gather(*map(self._claim_back, claims))
        return [claim for claim in fetched if claim is not None]

    async def _claim_back(self, claim: Claim) -> Claim | None:
        try:
            payload = await self.back(claim.input)
        except HoldfastError as error:
            log.warning("the input of %s cannot be fetched: %s", claim.id, error)
            await self._store.executions.delay(claim.id, claim.lease, _TRY_LATER_MS)
            return None
        return claim if payload is claim.input else replace(claim, input=payload)
