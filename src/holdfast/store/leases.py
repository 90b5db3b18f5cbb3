"""Leases: renews many in one call, revokes one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.model import records
from holdfast.model.executions import Lease
from holdfast.model.ids import new_id
from holdfast.model.moments import from_ms
from holdfast.store.domain import Domain, Partitioned
from holdfast.store.valkey.call import refusal_of

ITEMS_IN_CALL = 200

#: An execution and the lease on it.
Held = tuple[str, Lease]


def group_by_tag(store: Partitioned, held: Sequence[Held]) -> dict[str, list[int]]:
    """Group leases by partition."""
    by_tag: dict[str, list[int]] = {}
    for index, (execution_id, _) in enumerate(held):
        by_tag.setdefault(store.tag_of(execution_id), []).append(index)
    return by_tag


def renew_args(held: Sequence[Held], lease_ms: int) -> list[str]:
    """Return the arguments of renew.lua."""
    return [str(lease_ms), *(part for id_, lease in held for part in (id_, lease.fence))]


def renewal(reply: Sequence[Any]) -> datetime | HoldfastError:
    """Decode the answer for one lease."""
    return from_ms(reply[1]) if reply[0] == b"ok" else refusal_of(list(reply[1:]))


class Leases(Domain):
    """Leases of executions."""

    async def renew(self, held: Sequence[Held], lease_ms: int) -> list[datetime | HoldfastError]:
        """Extend leases: the new expiry or an error for each, in order."""
        by_tag = group_by_tag(self._store, held)
        answers: list[datetime | HoldfastError | None] = [None] * len(held)

        async def renew_chunk(tag: str, indexes: list[int]) -> None:
            args = renew_args([held[i] for i in indexes], lease_ms)
            try:
                replies = await self._call.write("hf_lease_renew", tag, *args)
            except HoldfastError as error:
                for index in indexes:
                    answers[index] = error
                return
            for index, reply in zip(indexes, replies, strict=True):
                answers[index] = renewal(reply)

        await asyncio.gather(
            *(
                renew_chunk(tag, indexes[start : start + ITEMS_IN_CALL])
                for tag, indexes in by_tag.items()
                for start in range(0, len(indexes), ITEMS_IN_CALL)
            )
        )
        return answers  # type: ignore[return-value]

    async def check(self, execution_id: str, lease: Lease) -> tuple[str, tuple[str, ...]]:
        """Return the tenant of an execution and the stored names of its budgets.

        Only the holder of its lease may ask; raises LeaseLost otherwise.
        """
        tag = self._store.tag_of(execution_id)
        tenant, limits = await self._call.read("hf_lease_check", tag, execution_id, lease.fence)
        return tenant.decode(), records.limit_names(limits, "budget")

    async def revoke(self, execution_id: str, reason: str) -> None:
        """Revoke the lease of a holder; the execution is ready again."""
        tag = self._store.tag_of(execution_id)
        await self._call.write("hf_lease_revoke", tag, execution_id, new_id(), reason)
