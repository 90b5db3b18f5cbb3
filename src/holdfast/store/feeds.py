"""Event feeds of tenants, and the changes of one execution."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from holdfast.model import records
from holdfast.model.executions import Event
from holdfast.model.feeds import Position, StateChange
from holdfast.model.moments import from_ms
from holdfast.model.states import State
from holdfast.store.domain import Domain


class Feeds(Domain):
    """Event feeds, one for each tenant and partition."""

    async def listen(self, tag: str, tenant: str) -> tuple[bool, Position, Position]:
        """Keep a feed for some minutes.

        Returns whether it was kept before, its last entry, and the position up to which entries
        are gone.
        """
        kept, last, gone = await self._call.write("hf_feed_listen", tag, tenant)
        return bool(kept), Position.parse(last.decode()), Position.parse(gone.decode())

    async def read(
        self, tag: str, tenant: str, start: str, limit: int
    ) -> tuple[int, list[StateChange]]:
        """Return the time of the partition in ms, and entries from `start` on, oldest first."""
        now, rows = await self._call.read("hf_feed_read", tag, tenant, start, str(limit))
        partition = int(tag.rsplit(":", 1)[1].rstrip("}"))
        return now, [_change(partition, entry_id.decode(), flat) for entry_id, flat in rows]

    async def follow(self, execution_id: str, process: str) -> tuple[State, list[Event]]:
        """Return state and history; the store notifies `process` whenever the execution changes."""
        tag = self._store.tag_of(execution_id)
        state, born, packed = await self._call.write(
            "hf_execution_follow", tag, execution_id, process
        )
        open_error = self._sealing.errors_of(execution_id)
        return State(state.decode()), records.events(born, packed, open_error)


def _change(partition: int, entry_id: str, flat: Sequence[bytes]) -> StateChange:
    fields = records.pairs(flat)
    position = Position.parse(entry_id, partition)
    before = fields[b"from"].decode()
    return StateChange(
        position=position,
        at=_moment(position),
        execution=fields[b"id"].decode(),
        kind=fields[b"kind"].decode(),
        lane=fields[b"lane"].decode(),
        before=State(before) if before else None,
        state=State(fields[b"to"].decode()),
        attempts=int(fields[b"attempts"]),
    )


def _moment(position: Position) -> datetime:
    return from_ms(position.ms)
