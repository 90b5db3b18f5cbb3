"""Activities over HTTP."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from http import HTTPStatus
from typing import Any, final

import msgspec
from typing_extensions import override

from holdfast.api.activities import Activities
from holdfast.client import decode_sessions as decode
from holdfast.client.http import Http, path
from holdfast.model import bounds, checks
from holdfast.model.activities import NewActivity
from holdfast.model.sessions import TurnAnswer

#: One long poll for the end of a turn; the next follows at once.
_WAIT_MS = 20_000


@final
class RemoteActivities(Activities):
    """Operations on activities."""

    def __init__(self, http: Http) -> None:
        self._http = http
        #: Whom an operator key acts for.
        self._tenant = http.tenant

    @override
    async def handle(
        self,
        activity: NewActivity,
        *,
        deployment: str | None = None,
        sender: str | None = None,
        wait_ms: int = 10_000,
    ) -> TurnAnswer:
        return await self._handle(activity, wait_ms, deployment=deployment, sender=sender)

    @override
    async def handle_for_revision(
        self,
        activity: NewActivity,
        revision: str,
        *,
        deployment: str | None = None,
        sender: str | None = None,
        wait_ms: int = 10_000,
    ) -> TurnAnswer:
        checks.name("revision", revision)
        return await self._handle(
            activity, wait_ms, deployment=deployment, sender=sender, revision=revision
        )

    async def _handle(self, activity: NewActivity, wait_ms: int, **fields: Any) -> TurnAnswer:
        checks.integer("wait_ms", wait_ms, 0, bounds.SEND_WAIT_MS)
        given = {
            **asdict(checks.instance("activity", activity, NewActivity)),
            "payload": msgspec.Raw(activity.payload),
        }
        del given["env"], given["tenant"]
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + wait_ms / 1000
        while True:
            left_ms = max(0, int((ends_at - loop.time()) * 1000))
            poll_ms = min(left_ms, _WAIT_MS)
            # The activity's id makes it safe to send the message again.
            response = await self._http.send(
                "POST",
                path("envs", activity.env, "tenants", self._whose(activity.tenant), "activities"),
                body={"activity": given, **fields, "wait_ms": poll_ms},
                wait_s=poll_ms / 1000,
            )
            done = response.status != HTTPStatus.ACCEPTED
            if done or poll_ms == left_ms:
                return decode.answer(response.content, done=done)

    def _whose(self, tenant: str) -> str:
        return (self._tenant or tenant) if tenant == "default" else tenant
