"""The registry of workers over HTTP."""

from __future__ import annotations

from typing import final

import msgspec
from typing_extensions import override

from holdfast import api
from holdfast.client import decode
from holdfast.client.beats import beat_body
from holdfast.client.http import Http, path
from holdfast.model import checks
from holdfast.model.workers import Beat, Registration, Worker


@final
class RemoteWorkers(api.Workers):
    """The registry of workers."""

    def __init__(self, http: Http) -> None:
        self._http = http

    @override
    async def _register(self, beat: Beat) -> Registration:
        response = await self._http.send(
            "PUT", path("workers", beat.instance), body=beat_body(beat)
        )
        reply = msgspec.json.decode(response.content)
        return Registration(
            is_new=response.created,
            expires_at=decode.moment(reply["expires_at"]),
            draining=reply["draining"],
        )

    @override
    async def drain(self, instance: str, *, tenant: str | None = None) -> None:
        where = path("workers", checks.name("instance", instance), "drain")
        await self._http.send("POST", where, query={"tenant": tenant})

    @override
    async def remove(self, instance: str, *, tenant: str | None = None) -> bool:
        where = path("workers", checks.name("instance", instance))
        await self._http.send("DELETE", where, query={"tenant": tenant})
        return True

    @override
    async def list(self) -> list[Worker]:
        return msgspec.convert(await self._http.items("/v1/workers"), list[Worker])
