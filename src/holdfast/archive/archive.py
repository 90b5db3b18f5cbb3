"""Reads the archive: look-ups, lists, whole segments. Readers follow the manifest."""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from holdfast.archive import segment
from holdfast.archive.offloaded import fetch_any
from holdfast.archive.segment import Entry, Index, Line, Segment
from holdfast.errors import ExecutionNotFound, InvalidInput, InvalidRecord, LostRace
from holdfast.fencing.manifest import FencedManifest, Snapshot
from holdfast.fencing.objects import ObjectStore
from holdfast.model import bounds, checks, references
from holdfast.model.archive import ArchiveStatus
from holdfast.model.executions import Execution
from holdfast.model.exports import Exported
from holdfast.model.listing import Filter, Page
from holdfast.model.names import ID_SEPARATOR
from holdfast.model.sealing import Sealing
from holdfast.store.exports import open_export

T = TypeVar("T")

KEY = "archive"
#: Segments may be replaced during a read, which then starts again.
_ROUNDS = 5
_INDEXES_KEPT = 64
_READS_AT_ONCE = 8
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: The part of a child's id that follows the id of its parent.
_CHILD = re.compile(r"~[0-9]+\.[0-9]+")


class _Replaced(Exception):
    """An object that the manifest named is gone."""


class Archive:
    """The archive in an object store, for reading."""

    def __init__(
        self,
        objects: ObjectStore,
        key: str = KEY,
        *,
        sealing: Sealing | None = None,
        former: Sequence[ObjectStore] = (),
    ) -> None:
        self.objects = objects
        #: Where the payloads of executions may be that began before this was the archive.
        self._former = former
        self._sealing = sealing or Sealing()
        self.manifest: FencedManifest = FencedManifest(objects, key)
        self._indexes: OrderedDict[str, Index] = OrderedDict()
        self._entries: Mapping[str, Entry] = {}

    async def status(self) -> ArchiveStatus:
        """Return the status of the archive."""
        snapshot = await self.manifest.read()
        entries = [entry for _, entry in entries_of(snapshot)]
        tenants: dict[str, int] = {}
        for entry in entries:
            for tenant, rows in entry.tenants.items():
                tenants[tenant] = tenants.get(tenant, 0) + rows
        return ArchiveStatus(
            segments=len(entries),
            executions=sum(entry.rows for entry in entries),
            bytes=sum(entry.bytes for entry in entries),
            tenants=dict(sorted(tenants.items())),
            first_day=min((entry.first_day for entry in entries), default=None),
            last_day=max((entry.last_day for entry in entries), default=None),
            sequence=snapshot.sequence if snapshot else 0,
            token=str(snapshot.token) if snapshot else None,
            committed_at_ms=snapshot.committed_at_ms if snapshot else None,
        )

    async def get(self, execution_id: str) -> Exported:
        """Return an archived execution, its last end; raises ExecutionNotFound."""
        checks.execution_id("id", execution_id)

        async def look(snapshot: Snapshot | None) -> Exported:
            (found,) = await self._fetch([await self._last(snapshot, execution_id)])
            return found

        return await self.whole(await self._consistently(look))

    async def owner(self, execution_id: str) -> str:
        """Return the tenant of an archived execution; raises ExecutionNotFound."""
        checks.execution_id("id", execution_id)

        async def look(snapshot: Snapshot | None) -> str:
            _, line = await self._last(snapshot, execution_id)
            return line.tenant

        return await self._consistently(look)

    async def _last(self, snapshot: Snapshot | None, execution_id: str) -> tuple[str, Line]:
        """Return where the last end of an execution is; raises ExecutionNotFound."""
        names = [
            (name, entry)
            for name, entry in entries_of(snapshot)
            if entry.first_id <= execution_id <= entry.last_id
        ]
        best: tuple[str, Line] | None = None
        async for name, index in self._each_index(names):
            for line in index.lines:
                if line.id == execution_id and (best is None or _later(line, best[1])):
                    best = (name, line)
        if best is None:
            raise ExecutionNotFound(f"no execution has the id {execution_id}", id=execution_id)
        return best

    async def whole(self, row: Exported) -> Exported:
        """Return an execution in plain form, even if its payloads are stored separately."""
        data, result = row.input(), row.result()
        if any(references.is_reference(payload or b"") for payload in (data, result)):
            places = [self.objects, *self._former]
            fetched = await fetch_any(places, data)
            row = row.with_payloads(
                fetched, None if result is None else await fetch_any(places, result)
            )
        return open_export(self._sealing, row)

    async def page(
        self, wanted: Filter | None = None, *, limit: int = 50, cursor: str | None = None
    ) -> Page:
        """Return a page of archived executions, newest first, each as it ended last."""
        checks.integer("limit", limit, 1, bounds.PAGE_ITEMS)
        wanted = _check_filter(wanted)
        before = _parse_cursor(cursor)

        async def look(snapshot: Snapshot | None) -> Page:
            lines = await self._newest(entries_of(snapshot), wanted, before, limit + 1)
            rows = await self._fetch(lines[:limit])
            more = None
            if len(lines) > limit:
                last = lines[limit - 1][1]
                more = f"{last.born}.{last.id}"
            return Page(items=tuple(map(self._described, rows)), next_cursor=more)

        return await self._consistently(look)

    def _described(self, row: Exported) -> Execution:
        """Return what a list shows; what cannot be read here says so."""
        known = row.describe()
        note, error = known.progress_message, known.error
        return replace(
            known,
            progress_message=note and self._sealing.open_text(note, note=row.id),
            error=error and self._sealing.open_error(error, row.id),
        )

    async def _newest(
        self,
        entries: Iterator[tuple[str, Entry]],
        wanted: Filter,
        before: tuple[int, str] | None,
        limit: int,
    ) -> list[tuple[str, Line]]:
        """Return the newest lines that match, reading only the segments that may have them."""
        best: dict[str, tuple[str, Line]] = {}
        ranked: list[tuple[str, Line]] = []
        candidates = [(name, entry) for name, entry in entries if _may_match(entry, wanted)]
        for name, entry in sorted(candidates, key=lambda one: -one[1].last_born):
            if len(ranked) >= limit and ranked[limit - 1][1].born > entry.last_born:
                break
            index = await self._index(name, entry)
            for line in index.lines:
                known = best.get(line.id)
                if known is None or _later(line, known[1]):
                    best[line.id] = (name, line)
            ranked = sorted(
                (
                    (at, line)
                    for at, line in best.values()
                    if _matches(line, wanted) and (before is None or (line.born, line.id) < before)
                ),
                key=lambda one: (one[1].born, one[1].id),
                reverse=True,
            )[:limit]
        return ranked

    async def rows(self, wanted: Filter | None = None) -> AsyncIterator[Exported]:
        """Iterate over archived executions, segment by segment, each as it ended last."""
        wanted = _check_filter(wanted)
        snapshot = await self.manifest.read()
        last: dict[str, tuple[int, int]] = {}
        repeated = set()
        for name, entry in entries_of(snapshot):
            try:
                index = await self._index(name, entry)
            except _Replaced as error:
                raise _lost_race(name) from error
            for line in index.lines:
                if line.id in last:
                    repeated.add(line.id)
                last[line.id] = max(last.get(line.id, (0, 0)), (line.born, line.run))
        for name, entry in entries_of(snapshot):
            if not _may_match(entry, wanted):
                continue
            try:
                whole = await self.load(name, entry)
            except _Replaced as error:
                raise _lost_race(name) from error
            for line, row in whole.rows():
                newest = line.id not in repeated or last[line.id] == (line.born, line.run)
                if newest and _matches(line, wanted):
                    yield await self.whole(row)

    async def verify(self) -> tuple[int, list[str]]:
        """Read everything; returns how many executions there are, and what is wrong."""
        snapshot = await self.manifest.read()
        seen: set[tuple[str, int, int]] = set()
        problems = []
        for name, entry in entries_of(snapshot):
            try:
                whole = await self.load(name, entry)
                for line, row in whole.rows():
                    if (row.id, row.born, row.run) != line.identity:
                        problems.append(f"{name}: the index names {line.id}, the row is {row.id}")
                    if line.identity in seen:
                        problems.append(f"{name}: {line.id} is in the archive twice")
                    seen.add(line.identity)
            except (InvalidRecord, _Replaced) as error:
                problems.append(str(error) or f"{name} is missing")
        return len(seen), problems

    async def load(self, name: str, entry: Entry) -> Segment:
        """Return a whole segment after checking its digest."""
        body = await self.manifest.get(name)
        if body is None:
            raise _Replaced(f"{name} is missing")
        return segment.open_segment(name, entry, body)

    async def _fetch(self, lines: Sequence[tuple[str, Line]]) -> Sequence[Exported]:
        """Return rows in this order, reading each block once."""
        wanted: dict[tuple[str, int], list[Line]] = {}
        for name, line in lines:
            wanted.setdefault((name, line.block), []).append(line)
        rows_by_identity: dict[tuple[str, int, int], Exported] = {}
        for (name, number), members in wanted.items():
            entry = self._entries.get(name)
            if entry is None:
                raise _Replaced
            block = (await self._index(name, entry)).blocks[number]
            data = await self.manifest.get_range(name, block.start, block.length)
            if data is None:
                raise _Replaced
            rows = segment.rows_of(data)
            rows_by_identity |= {line.identity: rows[line.place] for line in members}
        return [rows_by_identity[line.identity] for _, line in lines]

    async def _each_index(self, names: list[tuple[str, Entry]]) -> AsyncIterator[tuple[str, Index]]:
        for start in range(0, len(names), _READS_AT_ONCE):
            chunk = names[start : start + _READS_AT_ONCE]
            indexes = await asyncio.gather(*(self._index(name, entry) for name, entry in chunk))
            for (name, _), index in zip(chunk, indexes, strict=True):
                yield name, index

    async def _index(self, name: str, entry: Entry) -> Index:
        """Return the index of a segment; segments never change, so it is kept."""
        if name not in self._indexes:
            data = await self.manifest.get_range(name, entry.index_start, entry.index_bytes)
            if data is None:
                raise _Replaced
            self._indexes[name] = segment.index_of(name, data)
            if len(self._indexes) > _INDEXES_KEPT:
                self._indexes.popitem(last=False)
        self._indexes.move_to_end(name)
        return self._indexes[name]

    async def _consistently(self, look: Callable[[Snapshot | None], Awaitable[T]]) -> T:
        """Read by one manifest; start again if its segments were replaced in the meantime."""
        for _ in range(_ROUNDS):
            try:
                snapshot = await self.manifest.read()
                self._entries = dict(entries_of(snapshot))
                return await look(snapshot)
            except _Replaced:
                continue
        message = "the archive names segments that do not exist"
        raise InvalidRecord(message, object=self.manifest.where)


def entries_of(snapshot: Snapshot | None) -> Iterator[tuple[str, Entry]]:
    """Iterate over the segments of a manifest."""
    for name, value in (snapshot.objects if snapshot else {}).items():
        if value.get("kind") == "segment":
            yield name, segment.entry_of(name, value)


def _lost_race(name: str) -> LostRace:
    message = "segments were replaced while the archive was read: start again"
    return LostRace(message, object=name)


def _later(line: Line, other: Line) -> bool:
    return (line.born, line.run) > (other.born, other.run)


def _may_match(entry: Entry, wanted: Filter) -> bool:
    if wanted.tenant is not None and wanted.tenant not in entry.tenants:
        return False
    if wanted.until is not None and entry.first_born >= _stamp(wanted.until):
        return False
    return wanted.since is None or entry.last_born >= _stamp(wanted.since)


def _matches(line: Line, wanted: Filter) -> bool:
    for name in ("tenant", "lane", "kind"):
        value = getattr(wanted, name)
        if value is not None and value != getattr(line, name):
            return False
    if not _has_parts(line, wanted) or not _is_tagged(line, wanted):
        return False
    if wanted.graph is not None and not line.id.startswith(f"{wanted.graph}~"):
        return False
    if wanted.parent is not None and not _CHILD.fullmatch(line.id.removeprefix(wanted.parent)):
        return False
    if wanted.since is not None and line.born < _stamp(wanted.since):
        return False
    return wanted.until is None or line.born < _stamp(wanted.until)


def _has_parts(line: Line, wanted: Filter) -> bool:
    return (
        (not wanted.every_state or line.state in wanted.every_state)
        and line.kind.startswith(wanted.kind_prefix or "")
        and _has_start(line.id, wanted)
    )


def _has_start(execution_id: str, wanted: Filter) -> bool:
    """Whether an id starts as wanted; a tenant means those it chose, and minted ones."""
    prefix = wanted.id_prefix or ""
    own = f"{wanted.tenant}{ID_SEPARATOR}"
    starts = (prefix, prefix.removeprefix(own)) if wanted.tenant is not None else prefix
    return execution_id.startswith(starts)


def _is_tagged(line: Line, wanted: Filter) -> bool:
    if wanted.tag is not None and line.tags.get(wanted.tag[0]) != wanted.tag[1]:
        return False
    text = (wanted.text or "").lower()
    words = (word.lower() for pair in line.tags.items() for word in pair)
    return not text or any(text in word for word in words)


def _check_filter(wanted: Filter | None) -> Filter:
    """Return the filter; raise InvalidInput for what the archive cannot list by."""
    wanted = Filter() if wanted is None else checks.instance("wanted", wanted, Filter)
    if wanted.error_type is not None:
        checks.refuse("error_type", "cannot be combined with the archive", wanted.error_type)
    if wanted.oldest:
        checks.refuse("oldest", "must be false: the archive lists the newest first", wanted.oldest)
    return wanted


def _stamp(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _parse_cursor(cursor: str | None) -> tuple[int, str] | None:
    if cursor is None:
        return None
    checks.text("cursor", cursor, 2 * bounds.ID_CHARS)
    born, _, execution_id = cursor.partition(".")
    if not born.isdecimal() or not execution_id:
        raise InvalidInput("cursor: must be one that a list returned", field="cursor")
    return int(born), execution_id
