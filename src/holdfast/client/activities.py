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
from holdfast.model.activities import Dispatch
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
    async def _handle(self, dispatch: Dispatch) -> TurnAnswer:
        activity = dispatch.activity
        given = {**asdict(activity), "payload": msgspec.Raw(activity.payload)}
        del given["env"], given["tenant"]
        body: dict[str, Any] = {"activity": given, "deployment": dispatch.deployment}
        body["sender"] = dispatch.sender
        if dispatch.revision is not None:
            body["revision"] = dispatch.revision
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + dispatch.wait_ms / 1000
        while True:
            left_ms = max(0, int((ends_at - loop.time()) * 1000))
            poll_ms = min(left_ms, _WAIT_MS)
            # The activity's id makes it safe to send the message again.
            response = await self._http.send(
                "POST",
                path("envs", activity.env, "tenants", self._whose(activity.tenant), "activities"),
                body={**body, "wait_ms": poll_ms},
                wait_s=poll_ms / 1000,
            )
            done = response.status != HTTPStatus.ACCEPTED
            if done or poll_ms == left_ms:
                return decode.answer(response.content, done=done)

    def _whose(self, tenant: str) -> str:
        return (self._tenant or tenant) if tenant == "default" else tenant
