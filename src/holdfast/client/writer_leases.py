"""Writer leases over HTTP: the server decides who holds one, the holder's clock for how long."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import msgspec
from typing_extensions import override

from holdfast import api
from holdfast.client import decode
from holdfast.client.http import Http, path
from holdfast.errors import BackendFailed, NotFound, OutcomeUnknown, Refused, StoreUnavailable
from holdfast.model import checks
from holdfast.model.moments import to_ms
from holdfast.model.times import SystemTimes, Times
from holdfast.model.writer_leases import (
    Ask,
    Grant,
    LeaseRecord,
    PastHolder,
    Published,
    Token,
    Version,
    check_key,
)

#: The server compares versions.
_UNSEEN = Version("")


@final
class RemoteWriterLeases(api.WriterLeases):
    """Writer leases in a server's store.

    `WriterLease(client.writer_leases, "reports/main")` keeps one alive. A grant's deadline counts
    from before its request was first sent, so a late answer does not extend it.
    """

    def __init__(self, http: Http, times: Times | None = None) -> None:
        self._http = http
        self._tenant = http.tenant
        self.times: Times = times or SystemTimes()

    @override
    @property
    def name(self) -> str:
        return self._http.url

    @override
    async def require_fit(self) -> None:
        pass  # Servers keep leases in the store, which can fence them.

    @override
    async def read(self, key: str) -> Published | None:
        try:
            return Published(await self._ask("GET", key), _UNSEEN)
        except NotFound:
            return None

    @override
    async def acquire(self, key: str, ask: Ask) -> Grant:
        body = {
            "holder": ask.holder,
            "incarnation": ask.incarnation,
            "ttl_ms": ask.ttl_ms,
            "margin_ms": ask.margin_ms,
            "term": ask.term,
            "preempt": ask.preempt,
        }
        return await self._granted(key, "acquire", body)

    @override
    async def refresh(self, grant: Grant, ttl_ms: int | None = None) -> Grant:
        body = {**_holder(grant), "ttl_ms": ttl_ms}
        return await self._granted(grant.record.database_key, "refresh", body)

    @override
    async def release(self, grant: Grant) -> None:
        await self._ask("POST", grant.record.database_key, "release", body=_holder(grant))

    @override
    async def hand_over(self, grant: Grant, to: str) -> None:
        body = {**_holder(grant), "to": checks.name("to", to)}
        await self._ask("POST", grant.record.database_key, "handover", body=body)

    @override
    async def repair(self, key: str, floor: Token) -> LeaseRecord:
        return await self._ask("POST", key, "repair", body={"token": floor._asdict()})

    async def _granted(self, key: str, verb: str, body: Mapping[str, Any]) -> Grant:
        sent_ms = self.times.monotonic_ms()
        record = await self._ask("POST", key, verb, body=body)
        return Grant(record, _UNSEEN, sent_ms + record.ttl_ms - record.margin_ms)

    async def _ask(self, method: str, key: str, *verb: str, body: Any = None) -> LeaseRecord:
        """Send a call; report connection errors as those of an object store, which may pass."""
        where = path("writer-leases", check_key(key), *verb)
        try:
            response = await self._http.send(
                method, where, body=body, query={"tenant": self._tenant}
            )
        except (StoreUnavailable, Refused) as error:
            raise BackendFailed(f"{self.name}: {error}", maybe_done=False) from error
        except OutcomeUnknown as error:
            raise BackendFailed(f"{self.name}: {error}", maybe_done=True) from error
        return _record(msgspec.json.decode(response.content))


def _holder(grant: Grant) -> dict[str, Any]:
    record = grant.record
    return {
        "holder": record.holder_id,
        "incarnation": record.incarnation,
        "token": record.token._asdict(),
    }


def _record(view: Mapping[str, Any]) -> LeaseRecord:
    return LeaseRecord(
        database_key=view["key"],
        holder_id=view["holder"],
        incarnation=view["incarnation"],
        **view["token"],
        nonce="",
        acquired_at_ms=_ms(view["acquired_at"]),
        expires_at_ms=_ms(view["expires_at"]),
        ttl_ms=view["ttl_ms"],
        margin_ms=view["margin_ms"],
        released=view["released"],
        successor=view["successor"],
        holders=tuple(
            PastHolder(
                holder_id=past["holder"],
                incarnation=past["incarnation"],
                **past["token"],
                acquired_at_ms=_ms(past["acquired_at"]),
                ended=past["ended"],
            )
            for past in view["holders"]
        ),
    )


def _ms(text: str) -> int:
    return to_ms(decode.moment(text))
