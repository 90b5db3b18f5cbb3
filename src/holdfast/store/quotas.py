"""Quotas; each method is one call of one function."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from holdfast.errors import QuotaNotFound
from holdfast.model import names, records
from holdfast.model.moments import from_ms
from holdfast.model.quotas import NewQuota, Quota
from holdfast.store import catalog
from holdfast.store.domain import Domain, Partitioned
from holdfast.store.repeats import call_id

#: A submission assumes for this long that a quota it has seen still exists.
_SEEN_S = 5.0


class Quotas(Domain):
    """Quotas, by their stored ids."""

    def __init__(self, store: Partitioned) -> None:
        super().__init__(store)
        self._seen: dict[str, float] = {}

    async def create(self, quota: NewQuota) -> bool:
        """Create a quota; returns whether it is new."""
        caps = (quota.window_ms, quota.max_per_window, quota.max_concurrent)
        (word,) = await self._call.write(
            "hf_quota_create",
            self._store.quota_tag(quota.stored_id),
            quota.stored_id,
            quota.tenant,
            *map(_optional, caps),
        )
        return bool(word == b"created")

    async def set(
        self,
        quota_id: str,
        window_ms: int | None,
        max_per_window: int | None,
        max_concurrent: int | None,
    ) -> None:
        """Replace the limits of a quota."""
        caps = (window_ms, max_per_window, max_concurrent)
        tag = self._store.quota_tag(quota_id)
        await self._call.write("hf_quota_set", tag, quota_id, *map(_optional, caps))

    async def delete(self, quota_id: str) -> bool:
        """Remove a quota; returns whether it existed."""
        tag = self._store.quota_tag(quota_id)
        existed, more, part = False, 1, 0
        self._seen.pop(quota_id, None)
        while more:
            request = call_id("hf_quota_delete", tag, quota_id, str(part))
            word, more = await self._call.write("hf_quota_delete", tag, quota_id, request)
            existed, part = existed or word == b"deleted", part + 1
        return existed

    async def get(self, quota_id: str, value: str | None = None) -> Quota:
        """Return a quota, with the counts of one value of a tag if it is given."""
        tag = self._store.quota_tag(quota_id)
        name = quota_id if value is None else f"{quota_id}#{value}"
        fields, *counts, frees_at = await self._call.read("hf_quota_get", tag, quota_id, name)
        record = records.pairs(fields)
        window, most, slots = (record.get(key) for key in (b"window", b"most", b"slots"))
        running, in_window, waiting, promised = counts
        return Quota(
            id=names.parse(quota_id)[1],
            tenant=record[b"tenant"].decode(),
            window_ms=None if window is None else int(window),
            max_per_window=None if most is None else int(most),
            max_concurrent=None if slots is None else int(slots),
            created_at=from_ms(int(record[b"born"])),
            running=running,
            in_window=in_window,
            waiting=waiting,
            promised=promised,
            frees_at=from_ms(frees_at) if frees_at else None,
        )

    async def holders(self, quota_id: str, value: str | None, limit: int) -> list[str]:
        """Return executions that hold a slot of a quota; some of them, if there are more."""
        name = quota_id if value is None else f"{quota_id}#{value}"
        tag = self._store.quota_tag(quota_id)
        (ids,) = await self._call.read("hf_quota_holders", tag, name, str(limit))
        return [one.decode() for one in ids]

    async def list_quotas(
        self, tenant: str | None, limit: int, cursor: str | None
    ) -> tuple[list[Quota], str | None]:
        """Return a page in the order of tenant and id."""
        tags = _quota_tags(self._store)
        ids, cursor = await catalog.page(
            self._call, "hf_quota_list", tags, tenant=tenant, limit=limit, cursor=cursor
        )
        quotas = await asyncio.gather(*map(self._get_if_there, ids))
        return [quota for quota in quotas if quota is not None], cursor

    async def _get_if_there(self, quota_id: str) -> Quota | None:
        try:
            return await self.get(quota_id)
        except QuotaNotFound:
            return None

    async def check(self, quota_ids: Sequence[str]) -> None:
        """Raise QuotaNotFound unless all of them exist."""
        now = time.monotonic()
        unseen = [quota_id for quota_id in quota_ids if self._seen.get(quota_id, 0) < now]
        await asyncio.gather(*map(self.get, unseen))
        self._seen.update(dict.fromkeys(unseen, now + _SEEN_S))

    async def admit(
        self, tag: str, request: str, items: Sequence[tuple[str, int, Sequence[str]]]
    ) -> list[tuple[str, int | None] | None]:
        """Admit executions to quotas of one partition.

        Returns None for each that all quotas admitted, else the quota that refused and when to
        expect room; 0 if its epoch is over, so that it must ask under a later one.
        """
        args = [request]
        for execution_id, epoch, limits in items:
            args += (execution_id, str(epoch), "\n".join(limits))
        flat = await self._call.write("hf_quota_admit", tag, *args)
        if not any(flat):
            return [None] * len(items)
        return [
            (name.decode(), None if at == b"" else int(at)) if name else None
            for name, at in zip(flat[::2], flat[1::2], strict=True)
        ]

    async def release(
        self, tag: str, items: Sequence[tuple[str, str, str, Sequence[str]]]
    ) -> list[bytes]:
        """Release admissions in one partition; returns the size of its outbox."""
        args: list[str] = []
        for execution_id, epoch, used, limits in items:
            args += [execution_id, epoch, used, "\n".join(limits)]
        (entries,) = await self._call.write("hf_quota_release", tag, *args)
        return list(entries)


def _quota_tags(store: Partitioned) -> list[str]:
    return [tag for tag in store.limit_tags() if ":{q:" in tag]


def _optional(value: int | None) -> str:
    return "" if value is None else str(value)
