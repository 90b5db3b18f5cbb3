"""Leases: renewing many in one call, taking one away."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime

from holdfast.errors import HoldfastError
from holdfast.model.executions import Lease
from holdfast.model.ids import new_id
from holdfast.model.moments import from_ms
from holdfast.store.call import refusal_of
from holdfast.store.domain import Domain

ITEMS_IN_CALL = 200


class Leases(Domain):
    """Leases of executions."""

    async def renew(
        self, held: Sequence[tuple[str, Lease]], lease_ms: int
    ) -> list[datetime | HoldfastError]:
        """Extend leases: the new expiry or an error for each, in order."""
        by_tag: dict[str, list[int]] = {}
        for index, (execution_id, _) in enumerate(held):
            by_tag.setdefault(self._store.tag_of(execution_id), []).append(index)
        answers: list[datetime | HoldfastError | None] = [None] * len(held)

        async def renew_chunk(tag: str, indexes: list[int]) -> None:
            args = [part for i in indexes for part in (held[i][0], held[i][1].fence)]
            try:
                replies = await self._call.write("hf_lease_renew", tag, str(lease_ms), *args)
            except HoldfastError as error:
                for index in indexes:
                    answers[index] = error
                return
            for index, reply in zip(indexes, replies, strict=True):
                ok = reply[0] == b"ok"
                answers[index] = from_ms(reply[1]) if ok else refusal_of(reply[1:])

        await asyncio.gather(
            *(
                renew_chunk(tag, indexes[start : start + ITEMS_IN_CALL])
                for tag, indexes in by_tag.items()
                for start in range(0, len(indexes), ITEMS_IN_CALL)
            )
        )
        return answers  # type: ignore[return-value]

    async def revoke(self, execution_id: str, reason: str) -> None:
        """Take the lease from its holder; the execution is ready again."""
        tag = self._store.tag_of(execution_id)
        await self._call.write("hf_lease_revoke", tag, execution_id, new_id(), reason)
