"""Claims over HTTP: long polls with an id each, so that a lost answer can be requested again."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime

from typing_extensions import override

from holdfast import api
from holdfast.client import decode
from holdfast.client.beats import renewal_body, renewed
from holdfast.client.http import Http, path
from holdfast.concurrency import first_of
from holdfast.errors import ExecutionNotFound, HoldfastError, LeaseLost, OutcomeUnknown
from holdfast.model.claims import Claimant, ClaimRequest
from holdfast.model.executions import Claim
from holdfast.model.ids import new_id

#: The longest poll; the next follows at once.
POLL_MS = 20_000
_TRIES = 3


class RemoteClaimer(api.Claimer):
    """Claims executions for one worker, with fixed lanes, capabilities and kinds."""

    def __init__(self, http: Http, claimant: Claimant) -> None:
        self._http = http
        self._where = path("workers", claimant.worker, "claim")
        self._claimant = claimant
        self._stopping = asyncio.Event()

    @override
    def stop(self) -> None:
        self._stopping.set()

    @override
    async def _claim(self, request: ClaimRequest, given_up: asyncio.Event | None) -> list[Claim]:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + request.wait_ms / 1000
        while True:
            left_ms = max(0, int((deadline - loop.time()) * 1000))
            poll = request._replace(wait_ms=min(left_ms, POLL_MS), id=request.id or new_id())
            started = loop.time()
            claims = await self._poll_unless_stopped(poll)
            if claims and loop.time() - started > request.lease_ms / 3000:
                claims = await self._confirmed(claims, request.lease_ms)
            given = given_up is not None and given_up.is_set()
            if claims or self._stopping.is_set() or given or loop.time() >= deadline:
                return claims

    async def _poll_unless_stopped(self, poll: ClaimRequest) -> list[Claim]:
        polling = asyncio.ensure_future(self._poll(poll))
        try:
            await first_of(polling, self._stopping.wait())
            if polling.done():
                return polling.result()
        finally:
            polling.cancel()
        await asyncio.gather(polling, return_exceptions=True)
        # The server releases claims that reach no caller. Claims on their way here are requested
        # again; a limit of 0 claims nothing new.
        return await self._poll(poll._replace(limit=0, wait_ms=0, again=True))

    async def _confirmed(self, claims: list[Claim], lease_ms: int) -> list[Claim]:
        """Drop leases that expired on their way, because this process may have been stopped.

        A lease whose renewal fails may be alive: it is kept, and heartbeats find out.
        """
        held = [(claim.id, claim.lease) for claim in claims]
        try:
            reply = await self._http.post("/v1/leases:renew", renewal_body(held, lease_ms))
        except HoldfastError:
            return claims
        answers = [renewed(item) for item in reply["items"]]
        return [
            replace(claim, expires_at=answer) if isinstance(answer, datetime) else claim
            for claim, answer in zip(claims, answers, strict=True)
            if not isinstance(answer, LeaseLost | ExecutionNotFound)
        ]

    async def _poll(self, poll: ClaimRequest) -> list[Claim]:
        """Claim once; a lost answer is requested again."""
        body = {
            "lanes": self._claimant.lanes,
            "capabilities": self._claimant.capabilities,
            "kinds": self._claimant.kinds,
            "max": poll.limit,
            "lease_ms": poll.lease_ms,
            "wait_ms": poll.wait_ms,
            "request": poll.id,
        }
        again = poll.again
        for tries_left in range(_TRIES - 1, -1, -1):
            try:
                response = await self._http.send(
                    "POST",
                    self._where,
                    body={**body, "again": again},
                    once=True,
                    wait_s=poll.wait_ms / 1000,
                )
            except OutcomeUnknown:
                if not tries_left:
                    raise
                again = True
            else:
                claims, draining = decode.claims(response.content)
                if draining:
                    # A draining worker gets nothing, and learns why at its next heartbeat.
                    await asyncio.sleep(poll.wait_ms / 1000)
                return claims
        raise AssertionError
