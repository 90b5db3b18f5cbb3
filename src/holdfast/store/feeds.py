"""Event feeds of tenants, and the changes of one execution."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from holdfast.model import records
from holdfast.model.executions import Event
from holdfast.model.feeds import PARTITIONED, Noun, NounChange, Position, StateChange
from holdfast.model.moments import from_ms
from holdfast.model.states import State
from holdfast.store.domain import Domain

#: The name of the feed of a tenant's nouns other than executions.
_NOUNS = "nouns|"


class Source(NamedTuple):
    """A part of a tenant's feed: what happened in one partition."""

    tag: str
    #: The tenant, or its nouns other than executions.
    name: str
    #: Its place among the parts; entries of one moment are in the order of their parts.
    number: int


class Feeds(Domain):
    """Event feeds, one for each tenant and partition, and one for its other nouns."""

    def sources(self, tenant: str, wanted: Collection[Noun]) -> list[Source]:
        """Return the parts of a feed that have some nouns of a tenant."""
        tags = list(self._store.tags())
        others, more = f"{_NOUNS}{tenant}", len(tags)
        sources = []
        if Noun.EXECUTION in wanted:
            sources += [Source(tag, tenant, n) for n, tag in enumerate(tags)]
        if PARTITIONED.intersection(wanted):
            sources += [Source(tag, others, more + n) for n, tag in enumerate(tags)]
        if set(wanted) - PARTITIONED - {Noun.EXECUTION}:
            sources.append(Source(self._store.global_tag, others, 2 * more))
        return sources

    async def listen(self, tag: str, name: str) -> tuple[bool, Position, Position]:
        """Keep a part of a feed for some minutes.

        Returns whether it was kept before, its last entry, and the position up to which entries
        are gone.
        """
        kept, last, gone = await self._call.write("hf_feed_listen", tag, name)
        return bool(kept), Position.parse(last.decode()), Position.parse(gone.decode())

    async def part(
        self, source: Source, start: str, limit: int
    ) -> tuple[int, Sequence[StateChange | NounChange]]:
        """Return the time of a partition in ms, and entries from `start` on, oldest first."""
        if not source.name.startswith(_NOUNS):
            return await self.read(source.tag, source.name, start, limit)
        now, rows = await self._rows(source.tag, source.name, start, limit)
        return now, [_noun_change(source.number, row_id, flat) for row_id, flat in rows]

    async def read(
        self, tag: str, tenant: str, start: str, limit: int
    ) -> tuple[int, list[StateChange]]:
        """Return the same for the executions of a tenant."""
        now, rows = await self._rows(tag, tenant, start, limit)
        partition = int(tag.rsplit(":", 1)[1].rstrip("}"))
        return now, [_change(partition, row_id, flat) for row_id, flat in rows]

    async def _rows(
        self, tag: str, name: str, start: str, limit: int
    ) -> tuple[int, list[tuple[str, Sequence[bytes]]]]:
        now, rows = await self._call.read("hf_feed_read", tag, name, start, str(limit))
        return now, [(row_id.decode(), flat) for row_id, flat in rows]

    async def note(self, tenant: str, noun: Noun, seen: Mapping[str, str], *, whole: bool) -> int:
        """Append what has changed of nouns outside of the partitions; returns how many have.

        `seen` has the facts of each by name; with `whole`, the others were removed.
        """
        flat = [part for pair in seen.items() for part in pair]
        (noted,) = await self._call.write(
            "hf_feed_note", self._store.global_tag, tenant, noun, "1" if whole else "0", *flat
        )
        return int(noted)

    async def follow(self, execution_id: str, process: str) -> tuple[State, list[Event]]:
        """Return state and history; the store notifies `process` whenever the execution changes."""
        tag = self._store.tag_of(execution_id)
        state, born, packed = await self._call.write(
            "hf_execution_follow", tag, execution_id, process
        )
        open_error = self._sealing.errors_of(execution_id)
        return State(state.decode()), records.events(born, packed, open_error)


def _noun_change(number: int, entry_id: str, flat: Sequence[bytes]) -> NounChange:
    fields = {name.decode(): value.decode() for name, value in records.pairs(flat).items()}
    position = Position.parse(entry_id, number)
    return NounChange(
        position=position,
        at=_moment(position),
        type=Noun(fields["type"]),
        id=fields["id"],
        change=fields["change"],
        execution=fields.get("execution"),
        env=fields.get("env"),
    )


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
