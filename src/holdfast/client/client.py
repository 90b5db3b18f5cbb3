"""The client: an engine whose store is behind a server."""

from __future__ import annotations

import os
from typing import Self

from typing_extensions import override

from holdfast import api
from holdfast.api.assembly import add_nouns
from holdfast.client.http import Http
from holdfast.model import checks
from holdfast.model.pulse import Pulse

KEY_VARIABLE = "HOLDFAST_KEY"
CALL_TIMEOUT_MS = 15_000


class Client(api.Engine):
    """Holdfast over HTTP, with the same calls as an engine on the store itself.

    `async with Client("https://holdfast.example.org", key="hf_...") as client:`. If an
    answer is lost, the call is retried within its time, as far as that is safe. Calls that did not
    reach the server, or were refused for now, are retried within `patience_ms`.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        tenant: str | None = None,
        timeout_ms: int = CALL_TIMEOUT_MS,
        patience_ms: int | None = None,
    ) -> None:
        checks.integer("timeout_ms", timeout_ms, 1, 3_600_000)
        patience_ms = timeout_ms if patience_ms is None else patience_ms
        checks.integer("patience_ms", patience_ms, 1, timeout_ms)
        secret = key or os.environ.get(KEY_VARIABLE) or None
        self._http = Http(url, secret, timeout_ms, patience_ms, tenant=tenant)
        add_nouns(self, "holdfast.client", self._http, prefix="Remote")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    @override
    async def close(self) -> None:
        await self._http.close()

    @override
    async def pulse(self) -> Pulse:
        reply = await self._http.get("/v1/pulse")
        return Pulse(
            late_s=reply["late_ms"] / 1000,
            waiting_s={lane: ms / 1000 for lane, ms in reply["waiting_ms"].items()},
            incidents=reply["incidents"],
        )

    @override
    async def ping(self) -> None:
        await self._http.send("GET", "/readyz")
