"""Claims from partitions: asks those that may have work, and sleeps until one announces some."""

from __future__ import annotations

import asyncio
from collections import deque

from typing_extensions import override

from holdfast import api
from holdfast.concurrency import first_of
from holdfast.engine.admission import Admission
from holdfast.engine.payloads import Payloads
from holdfast.errors import HoldfastError
from holdfast.model.claims import Claimant, ClaimRequest
from holdfast.model.executions import Claim
from holdfast.model.ids import new_id
from holdfast.store import channels
from holdfast.store.grants import Wanted
from holdfast.store.store import Store

#: A failover can lose a wake-up; this bounds how long work can go unnoticed.
POLL_S = 2.0


class Claimer(api.Claimer):
    """Claims for one worker on fixed lanes with fixed capabilities and kinds."""

    def __init__(
        self,
        store: Store,
        admission: Admission,
        payloads: Payloads,
        claimant: Claimant,
        poll_s: float,
    ) -> None:
        self._store = store
        self._admission = admission
        self._payloads = payloads
        self._claimant = claimant
        self._kinds = None if claimant.kinds is None else frozenset(claimant.kinds)
        tags = list(store.tags())
        self._channels = {channels.work(tag, lane): tag for tag in tags for lane in claimant.lanes}
        #: The partitions in the order in which they are asked, and those that may have work.
        self._rotation = deque(tags)
        self._hopeful = set(tags)
        #: Those whose last answer was full: several claims may ask them at once.
        self._plentiful: set[str] = set()
        #: How often each has announced work.
        self._announced = dict.fromkeys(tags, 0)
        self._woken = asyncio.Event()
        self._next_poll = 0.0
        #: How often all partitions are asked, in case an announcement was lost.
        self._poll_s = poll_s
        self._stopped = False

    async def open(self) -> None:
        """Listen for work."""
        await self._store.subscriptions.add(self._channels, self._on_wake)

    async def close(self) -> None:
        """Stop listening."""
        await self._store.subscriptions.remove(self._channels, self._on_wake)

    @override
    def stop(self) -> None:
        self._stopped = True
        self._woken.set()

    def _on_wake(self, channel: str, kind: str) -> None:
        if kind and self._kinds is not None and kind not in self._kinds:
            return
        tag = self._channels[channel]
        self._announced[tag] += 1
        self._hopeful.add(tag)
        self._woken.set()

    @override
    async def _claim(self, request: ClaimRequest, given_up: asyncio.Event | None) -> list[Claim]:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + request.wait_ms / 1000
        if request.again:
            claims = await self._held(request)
            if claims or request.limit == 0:
                return await self._payloads.open_claims(claims)
            self._hopeful.update(self._rotation)
        while True:
            self._woken.clear()
            claims, is_spent = ([], False) if self._stopped else await self._ask(request)
            if claims or is_spent or self._stopped or loop.time() >= deadline:
                return await self._payloads.open_claims(claims)
            await self._wait(min(deadline, self._next_poll), given_up)
            if given_up is not None and given_up.is_set():
                return []

    async def _wait(self, until: float, given_up: asyncio.Event | None) -> None:
        """Wait for work, or until the caller stops waiting."""
        events = [self._woken] if given_up is None else [self._woken, given_up]
        timeout_s = max(0.0, until - asyncio.get_running_loop().time())
        await first_of(*(event.wait() for event in events), timeout_s=timeout_s)

    async def _ask(self, request: ClaimRequest) -> tuple[list[Claim], bool]:
        """Return leases, and whether the request gets no others from now on.

        A partition answers a request by its caller's id once; an answer may hold executions that
        their limits then refused.
        """
        now = asyncio.get_running_loop().time()
        if now >= self._next_poll:
            self._hopeful.update(self._rotation)
            self._next_poll = now + self._poll_s
        claims: list[Claim] = []
        problem: HoldfastError | None = None
        is_spent = False
        for _ in range(len(self._rotation)):
            tag = self._rotation[0]
            self._rotation.rotate(-1)
            if tag not in self._hopeful:
                continue
            wanted = request.limit - len(claims)
            if wanted <= 0:
                # A repeated call has got more than it asks for now.
                break
            announced = self._announced[tag]
            if tag not in self._plentiful:
                # Few executions may be ready: other claims of this process would find none.
                self._hopeful.discard(tag)
            try:
                found, looked_at = await self._claim_in(tag, wanted, request)
            except HoldfastError as error:
                # This error must not discard the leases that other partitions granted.
                self._hopeful.add(tag)
                problem = error
                continue
            claims += found
            is_spent = is_spent or (looked_at > 0 and request.id is not None)
            if looked_at == wanted:
                # There may be more work, for other claims of this process.
                self._plentiful.add(tag)
                self._hopeful.add(tag)
                self._woken.set()
                break
            self._plentiful.discard(tag)
            if self._announced[tag] == announced:
                self._hopeful.discard(tag)
        if problem is not None and not claims:
            raise problem
        return claims, is_spent

    async def _held(self, request: ClaimRequest) -> list[Claim]:
        """Return what an earlier call with this request has claimed, in whichever partitions."""
        asked = (self._claim_in(tag, 0, request) for tag in tuple(self._rotation))
        answers = await asyncio.gather(*asked, return_exceptions=True)
        problems = [answer for answer in answers if isinstance(answer, BaseException)]
        found = [answer[0] for answer in answers if not isinstance(answer, BaseException)]
        claims = [claim for some in found for claim in some]
        if problems and not claims:
            raise problems[0]
        return claims

    async def _claim_in(
        self, tag: str, limit: int, request: ClaimRequest
    ) -> tuple[list[Claim], int]:
        wanted = Wanted(
            request=request.id or new_id(),
            worker=self._claimant.worker,
            lanes=self._claimant.lanes,
            capabilities=self._claimant.capabilities,
            limit=limit,
            lease_ms=request.lease_ms,
            tenant=self._claimant.tenant,
            kinds=self._kinds,
        )
        return await self._admission.claim(tag, wanted)
