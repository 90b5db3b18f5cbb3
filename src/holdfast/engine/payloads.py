"""The only path of inputs and results into the store and out of it.

A large payload is kept in the storage of the archive, and the store holds a reference to it. The
setting is looked up at most every half minute, and only for payloads that may be large enough.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace

from holdfast.archive.offloaded import fetch, fetch_any
from holdfast.engine.upstream_results import merge
from holdfast.errors import BackendFailed, HoldfastError, InvalidRecord, VersionConflict
from holdfast.fencing import urls
from holdfast.fencing.objects import ObjectStore
from holdfast.model import references
from holdfast.model.executions import Claim, NewExecution, Outcome, Passed
from holdfast.model.exports import Exported
from holdfast.model.references import LEAST_BYTES
from holdfast.model.sealing import is_sealed
from holdfast.store.executions import input_scopes, open_step
from holdfast.store.exports import open_export
from holdfast.store.store import Store
from holdfast.store.waitpoints import open_signal

log: logging.Logger = logging.getLogger(__name__)

_LOOK_AGAIN_S = 30.0
#: An execution whose input cannot be fetched now is delayed for this long.
_TRY_LATER_MS = 5_000
#: How many results of upstreams are read concurrently for one claim.
_READS = 32


@dataclass(frozen=True, slots=True)
class _Place:
    """Where payloads are kept, and from which size."""

    url: str
    objects: ObjectStore
    threshold: int | None


#: Where a payload was written, under which key.
_Written = tuple[ObjectStore, str, bytes]


class Payloads:
    """Stores and opens payloads; nothing else reads or writes them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._sealing = store.sealing
        self._place: _Place | None = None
        self._look_at = 0.0
        #: Storages that were read besides that of the archive.
        self._others: dict[str, ObjectStore] = {}

    async def _find(self) -> _Place | None:
        now = asyncio.get_running_loop().time()
        if now >= self._look_at:
            url, threshold = await self._store.archives.offload()
            known = self._place
            if url is None:
                self._place = None
            elif known is None or (known.url, known.threshold) != (url, threshold):
                objects = known.objects if known and known.url == url else urls.parse(url)
                self._place = _Place(url, objects, threshold)
            self._look_at = now + _LOOK_AGAIN_S
        return self._place

    async def storages(self) -> tuple[ObjectStore | None, Sequence[ObjectStore]]:
        """Return the storage of the archive, None if there is none, and all other storages."""
        place = await self._find()
        if place is None:
            return None, await self._others_than("")
        return place.objects, await self._others_than(place.url)

    async def _others_than(self, url: str) -> Sequence[ObjectStore]:
        """Return the storage of an archive that was set since the last look, and of former ones.

        A process that has not noticed a new setting yet still writes to the archive before.
        """
        now, former = await self._store.archives.urls()
        others = [one for one in (now, *former) if one and one != url]
        for one in others:
            if one not in self._others:
                self._others[one] = urls.parse(one)
        return [self._others[one] for one in others]

    # Storing

    @contextlib.asynccontextmanager
    async def stored_inputs(
        self, items: Sequence[NewExecution]
    ) -> AsyncIterator[Sequence[NewExecution]]:
        """Yield new executions with their inputs in stored form; they are created inside.

        An erasure of their tenant that does not see them yet deletes what was written before. In
        that case it is written again.
        """
        if all(len(item.input) <= LEAST_BYTES for item in items):
            yield items
            return
        for item in items:
            references.check_is_none("input", item.input)
        if not any([await self._place_for(item.input) for item in items]):
            yield items
            return
        before = await self._store.archives.erasures()
        written: list[_Written] = []
        stored = await asyncio.gather(*(self._store_input(item, written) for item in items))
        try:
            yield stored
        finally:
            if written:
                await self._write_again(written, before)

    async def _write_again(self, written: Sequence[_Written], before: tuple[str, str]) -> None:
        """Write payloads again that an erasure may have deleted since."""
        try:
            now = await self._store.archives.erasures()
            if now == before and not now[0]:
                return
            for objects, key, payload in written:
                with contextlib.suppress(VersionConflict):
                    await objects.put_if_absent(key, payload)
        except HoldfastError as error:
            log.warning("large inputs may be lost if their tenant is being erased: %s", error)

    async def _store_input(self, item: NewExecution, written: list[_Written]) -> NewExecution:
        place = await self._place_for(item.input)
        if place is None:
            return item
        payload, value = item.input, None
        if self._sealing.sealer is not None:
            # No digest of the value leaves the process, so that of the submission is made here.
            item = item.saying(item.digest())
            payload = self._sealing.seal(payload, "input", item.tenant)
        elif item.is_named:
            # An input that may be compared with others is stored with a digest of its value.
            value = references.value_of(payload)
        stored = await _put(place, "input", item.tenant, payload, value)
        if references.is_reference(stored):
            written.append((place.objects, references.decode(stored).key, payload))
        return item.kept_as(stored)

    async def store_result(self, execution_id: str, result: bytes) -> bytes:
        """Return the stored form of a result that may be large."""
        place = await self._place_for(result)
        if place is None:
            return result
        # An extra round trip, which is short compared to the upload.
        tenant = await self._store.queries.owner(execution_id)
        return await _put(
            place, "result", tenant, self._sealing.seal(result, "result", execution_id)
        )

    async def _place_for(self, payload: bytes) -> _Place | None:
        """Return where to keep a payload outside the store, or None."""
        if len(payload) <= LEAST_BYTES:
            return None
        place = await self._find()
        if place is None or place.threshold is None or len(payload) <= place.threshold:
            return None
        return place

    # Opening

    async def _open(self, payload: bytes, **scopes: str) -> bytes:
        """Return a payload in plain form, from object storage if need be.

        Raises BackendFailed, InvalidRecord, PayloadUnreadable.
        """
        return self._sealing.open(await self._fetch(payload), **scopes)

    async def _fetch(self, payload: bytes) -> bytes:
        if not references.is_reference(payload):
            return payload
        place = await self._find()
        if place is None:
            return await fetch_any(await self._others_than(""), payload)
        try:
            return await fetch(place.objects, payload)
        except InvalidRecord as error:
            return await fetch_any(await self._others_than(place.url), payload, error)

    async def input(self, execution_id: str) -> bytes:
        """Return the input of an execution."""
        payload = await self._fetch(await self._store.queries.input(execution_id))
        if not is_sealed(payload):
            return payload
        tenant = await self._store.queries.owner(execution_id)
        return self._sealing.open(payload, **input_scopes(execution_id, tenant))

    async def outcome(self, execution_id: str, *, process: str = "") -> Outcome | None:
        """Return how an execution ended; if it has not, `process` is notified when it does."""
        outcome = await self._store.executions.outcome(execution_id, process)
        return None if outcome is None else await self._open_outcome(outcome)

    async def _open_outcome(self, outcome: Outcome) -> Outcome:
        if not outcome.result:
            return outcome
        result = await self._open(outcome.result, result=outcome.id)
        return outcome if result is outcome.result else replace(outcome, result=result)

    async def open_export(self, row: Exported) -> Exported:
        """Return an exported execution with its payloads."""
        result = row.result()
        fetched = row.with_payloads(
            await self._fetch(row.input()), None if result is None else await self._fetch(result)
        )
        return open_export(self._sealing, fetched)

    async def open_claims(self, claims: list[Claim]) -> list[Claim]:
        """Return claims with complete inputs; delay those that cannot be read now."""
        opened: list[Claim | None] = []
        far = []
        for claim in claims:
            if _is_elsewhere(claim):
                far.append(self._open_claim(claim))
            elif _must_be_opened(claim):
                # What is here already needs no task.
                opened.append(await self._open_claim(claim))
            else:
                opened.append(claim)
        if far:
            opened += await asyncio.gather(*far)
        return [claim for claim in opened if claim is not None]

    async def _open_claim(self, claim: Claim) -> Claim | None:
        try:
            claim = self._open_journal(claim)
            payload = await self._open(claim.input, **input_scopes(claim.id, claim.tenant))
            if claim.passed:
                outcomes = await self.outcomes(claim.passed)
                payload = merge(payload, claim.passed, outcomes)
        except HoldfastError as error:
            log.warning("cannot read the input of %s: %s", claim.id, error)
        except Exception:
            # The leases of other claims must not be lost for it.
            log.exception("cannot read the input of %s", claim.id)
        else:
            # A copy would cost more than all the rest, and nobody else has the claim yet.
            claim.input, claim.passed = payload, ()
            return claim
        # It may have been cancelled.
        with contextlib.suppress(HoldfastError):
            await self._store.executions.delay(claim.id, claim.lease, _TRY_LATER_MS)
        return None

    def _open_journal(self, claim: Claim) -> Claim:
        """Return a claim with its steps and signals in plain form."""
        if not any(map(is_sealed, claim.steps.values())) and not claim.signals:
            return claim
        steps = {
            name: open_step(self._sealing, claim.id, name, result)
            for name, result in claim.steps.items()
        }
        signals = tuple(open_signal(self._sealing, claim.id, one) for one in claim.signals)
        return replace(claim, steps=steps, signals=signals)

    async def outcomes(self, passed: Sequence[Passed]) -> list[Outcome | None]:
        """Return how members of a graph ended."""
        if not any(map(_must_be_read, passed)):
            return [one.outcome and await self._open_outcome(one.outcome) for one in passed]
        reading = asyncio.Semaphore(_READS)

        async def read(upstream: Passed) -> Outcome | None:
            async with reading:
                if upstream.outcome is None:
                    return await self.outcome(upstream.id)
                return await self._open_outcome(upstream.outcome)

        return await asyncio.gather(*map(read, passed))


def _is_elsewhere(claim: Claim) -> bool:
    """Whether a part of a claim's input has to be read first."""
    return references.is_reference(claim.input) or any(map(_must_be_read, claim.passed))


def _must_be_read(upstream: Passed) -> bool:
    outcome = upstream.outcome
    return outcome is None or references.is_reference(outcome.result or b"")


def _must_be_opened(claim: Claim) -> bool:
    """Whether a claim has a payload that is sealed, or gets results of upstreams."""
    return (
        bool(claim.passed)
        or is_sealed(claim.input)
        or (bool(claim.steps) and any(map(is_sealed, claim.steps.values())))
        or (bool(claim.signals) and any(is_sealed(signal.payload) for signal in claim.signals))
    )


async def _put(
    place: _Place, field: str, tenant: str, payload: bytes, value: str | None = None
) -> bytes:
    """Write a payload to object storage; if that fails, the payload stays in the store."""
    reference = references.reference_to(tenant, payload, value)
    try:
        await place.objects.put_if_absent(reference.key, payload)
    except VersionConflict:
        pass
    except BackendFailed as error:
        log.warning("cannot offload a large %s, so it stays in the store: %s", field, error)
        return payload
    return reference.encode()
