"""The announcer: delivers webhooks, which are executions of a kind of its own.

A waitpoint with `on_open` writes to the outbox of its partition when it is created, an execution or
a graph with `on_end` when it ends; the courier turns the entry into an execution; one of the
announcers claims it, calls the receiver, and
completes or fails it. Nothing secret is stored: tokens are signed for each try.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from holdfast.api.keyring import SigningKeys
from holdfast.engine.executions import Executions
from holdfast.engine.webhooks import Webhooks
from holdfast.errors import HoldfastError, InvalidInput, NotFound
from holdfast.model.claims import Claimant
from holdfast.model.executions import Claim, Execution, Failure
from holdfast.model.moments import to_ms
from holdfast.model.waitpoints import Waitpoint, WaitpointState, parse_waitpoint_id
from holdfast.model.webhooks import KIND, LANE, Message, headers
from holdfast.outages import level
from holdfast.store.store import Store
from holdfast.store.webhooks import Subject

if TYPE_CHECKING:
    from holdfast.engine.posting import Poster

log: logging.Logger = logging.getLogger(__name__)

PUBLIC_URL_VARIABLE = "HOLDFAST_PUBLIC_URL"
#: Longer than a call may take.
LEASE_MS = 60_000
_AT_ONCE = 16
#: Claims are announced; this bounds how long a lost announcement can go unnoticed.
POLL_S = 15.0


class Announcer:
    """Delivers webhooks for as long as it runs."""

    name = "announcer"

    def __init__(
        self, store: Store, executions: Executions, keys: SigningKeys, webhooks: Webhooks
    ) -> None:
        self._store = store
        self._executions = executions
        self._keys = keys
        self._webhooks = webhooks

    async def run(self) -> None:
        """Deliver until cancelled."""
        worker = f"{self.name}.{socket.gethostname()}.{os.getpid()}"
        poster: Poster | None = None
        claimant = Claimant(worker=worker, lanes=(LANE,), kinds=(KIND,))
        async with self._executions.open_claimer(claimant, poll_s=POLL_S) as claimer:
            try:
                while True:
                    claims = await claimer.claim(_AT_ONCE, LEASE_MS, int(POLL_S * 1000))
                    if claims and poster is None:
                        # The web client takes long to import, and most processes never need it.
                        from holdfast.engine.posting import Poster  # noqa: PLC0415

                        poster = Poster()
                    if poster is not None:
                        await asyncio.gather(*(self._deliver(poster, claim) for claim in claims))
            finally:
                if poster is not None:
                    await poster.close()

    async def _deliver(self, poster: Poster, claim: Claim) -> None:
        from holdfast.engine.posting import NotDelivered  # noqa: PLC0415 - as above

        try:
            try:
                done = await self._send(poster, claim)
            except NotDelivered as error:
                failure = Failure(type="NotDelivered", message=str(error), retryable=error.again)
                await self._executions.fail(claim.id, claim.lease, failure)
                return
            await self._executions.complete(claim.id, claim.lease, msgspec.json.encode(done))
        except HoldfastError as error:
            # Its lease ends, and it is tried again.
            log.log(level(error), "webhook %s was interrupted: %s", claim.id, error)

    async def _send(self, poster: Poster, claim: Claim) -> dict[str, Any]:
        """Send a message and return what to record of it."""
        from holdfast.engine.posting import NotDelivered  # noqa: PLC0415 - as above

        try:
            # Every client can submit an execution of this kind, so only a name is taken from it.
            message = msgspec.json.decode(claim.input, type=Message)
            if message.what == "waitpoint":
                url, content = await self._opened(message, claim.tenant)
            else:
                url, content = await self._ended(message.what, message, claim.tenant)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, InvalidInput) as error:
            raise NotDelivered(f"it is no message: {error}", again=False) from error
        except NotFound:
            return {"skipped": "it no longer exists"}
        except _Skipped as reason:
            return {"skipped": str(reason)}
        body, now = msgspec.json.encode(content), time.time()
        secrets = await self._webhooks.secrets(claim.tenant, int(now * 1000))
        status = await poster.post(url, headers(secrets, claim.id, int(now), body), body)
        return {"status": status}

    async def _opened(self, message: Message, tenant: str) -> tuple[str, dict[str, Any]]:
        execution_id, number = parse_waitpoint_id("waitpoint", message.id)
        execution = await self._store.queries.describe(execution_id)
        points, _ = await self._store.waitpoints.of(execution_id)
        point = points[number - 1] if number <= len(points) else None
        if execution.tenant != tenant or point is None or point.on_open is None:
            raise _Skipped(_NOTHING)
        if point.state is WaitpointState.CLOSED:
            raise _Skipped(f"the waitpoint is closed: {point.why}")
        return point.on_open, {
            "type": "waitpoint.opened",
            "waitpoint": _shown(point),
            "execution": _named(execution),
            **await self._rights(point),
        }

    async def _ended(
        self, what: Subject, message: Message, tenant: str
    ) -> tuple[str, dict[str, Any]]:
        ending = await self._store.webhooks.ending(what, message.id)
        if ending is None or ending.tenant != tenant or ending.url is None:
            raise _Skipped(_NOTHING)
        if ending.ended_ms != message.ended_ms:
            raise _Skipped(f"the {what} runs again, or ended again")
        shown: dict[str, Any] = {"id": message.id, "tenant": tenant}
        if what == "execution":
            execution = await self._store.queries.describe(message.id)
            shown = {**_named(execution), "attempts": execution.attempts, "error": None}
            if execution.error is not None:
                shown["error"] = {name: execution.error.get(name) for name in ("type", "message")}
        shown |= {"state": ending.state, "ended_ms": ending.ended_ms}
        return ending.url, {"type": f"{what}.ended", what: shown}

    async def _rights(self, point: Waitpoint) -> dict[str, Any]:
        """Return the tokens that a receiver passes on, and links if the server has an address."""
        ring = await self._keys.ring()
        people = point.answerers if point.personal else ("",)
        tokens = {person: ring.sign(point.grant(person)).reveal() for person in people}
        base = os.environ.get(PUBLIC_URL_VARIABLE, "").rstrip("/")
        at = f"{base}/answer/{quote(point.id, safe=':@~')}"
        links = {person: f"{at}#{token}" for person, token in tokens.items()} if base else {}
        if point.personal:
            return {"tokens": tokens, "links": links}
        return {"token": tokens[""], "link": links.get("")}


class _Skipped(Exception):
    """There is nothing to announce."""


_NOTHING = "nothing is to be announced"


def _named(execution: Execution) -> dict[str, Any]:
    return {"id": execution.id, "kind": execution.kind, "tenant": execution.tenant}


def _shown(point: Waitpoint) -> dict[str, Any]:
    return {
        "id": point.id,
        "name": point.name,
        "title": point.title,
        "schema": point.schema,
        "answerers": point.answerers,
        "created_ms": to_ms(point.created_at),
        "until_ms": None if point.until is None else to_ms(point.until),
    }
