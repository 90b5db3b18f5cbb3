"""The archiver: moves ended executions from the store to the archive.

Any number of processes may run it. The holder of the writer lease works; it acquires the lease when
executions wait and releases it when none do. The order makes every crash harmless:

    read executions that wait -> put a segment -> commit it, as pending -> forget them in the store

A committed segment stays pending until the next commit, so the next archiver after a crash forgets
its executions before it reads others. No execution is forgotten before it is committed, and no
committed one is read again. Forgetting names exactly the ends that were read: an execution that was
replayed in the meantime has another end, and stays.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from holdfast.archive import compaction, erasure
from holdfast.archive.archive import KEY, Archive, entries_of
from holdfast.archive.erasure import Erasure
from holdfast.archive.segment import Builder
from holdfast.archive.session_files import SessionFiles
from holdfast.errors import HoldfastError, SessionNotFound
from holdfast.fencing import urls
from holdfast.fencing.in_store import StoreObjects
from holdfast.fencing.lease import WriterLease
from holdfast.fencing.objects import ObjectStore
from holdfast.fencing.writer import ManifestWriter
from holdfast.model import bounds, checks
from holdfast.model.exports import Exported
from holdfast.store.store import Store

log: logging.Logger = logging.getLogger(__name__)

_PAUSE_AFTER_ERROR_S = 5.0
#: Executions per call to the store: bounds how long a call keeps the server busy.
_ROWS_IN_CALL = 100
_BYTES_IN_CALL = 4 << 20
_SESSIONS_IN_CALL = 100

#: Called at named points of the work; tests stop or kill the process there.
At = Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiverSettings:
    """The settings of the archiver."""

    #: A segment is closed at this many executions, or this many bytes before compression.
    segment_rows: int = 5_000
    segment_bytes: int = 16 << 20
    #: How often it checks whether executions wait.
    poll_s: float = 5.0
    #: If fewer executions wait than fill a segment: how long the oldest waits for more to come.
    linger_s: float = 60.0
    #: The ttl of the writer lease: how long others wait when this process stops refreshing it.
    ttl_ms: int = 30_000
    holder: str | None = None

    def __post_init__(self) -> None:
        checks.integer("segment_rows", self.segment_rows, 1, 1_000_000)
        checks.integer("segment_bytes", self.segment_bytes, 1, 1 << 30)
        checks.number("poll_s", self.poll_s, 0.01, 3_600)
        checks.number("linger_s", self.linger_s, 0, 86_400)


@dataclass(slots=True)
class Report:
    """The work that a run did."""

    archived: int = 0
    segments: int = 0
    bytes: int = 0
    #: Executions committed by a predecessor that died before it could forget them.
    recovered: int = 0
    compacted: int = 0
    collected: int = 0


async def _nothing(_point: str) -> None:
    """Do nothing at the named points."""


class Archiver:
    """Moves executions to the archive."""

    def __init__(
        self,
        store: Store,
        objects: ObjectStore,
        settings: ArchiverSettings | None = None,
        *,
        at: At = _nothing,
    ) -> None:
        self._store = store
        self._archive = Archive(objects)
        self._settings = settings or ArchiverSettings()
        self._at = at

    def lease(self, *, wait_s: float = 0.0) -> WriterLease:
        """Return the writer lease of the archive, not yet acquired."""
        return WriterLease(
            self._archive.objects,
            KEY,
            holder=self._settings.holder or socket.gethostname(),
            ttl_ms=self._settings.ttl_ms,
            wait_s=wait_s,
        )

    async def run(self) -> None:
        """Archive waiting executions, until cancelled."""
        waits_since: float | None = None
        loop = asyncio.get_running_loop()
        while True:
            try:
                waiting, _ = await self._store.archives.waiting()
                waits_since = (waits_since or loop.time()) if waiting else None
                if waits_since is not None and self._is_time(waiting, loop.time() - waits_since):
                    report = await self.run_once(wait_s=self._settings.poll_s)
                    log.info("archived %d executions", report.archived)
                    waits_since = None
            except HoldfastError as error:
                log.log(
                    logging.INFO if error.code == "held" else logging.WARNING,
                    "archiving failed: %s",
                    error,
                )
                await asyncio.sleep(min(_PAUSE_AFTER_ERROR_S, self._settings.poll_s))
            await asyncio.sleep(self._settings.poll_s)

    def _is_time(self, waiting: int, waited_s: float) -> bool:
        return waiting >= self._settings.segment_rows or waited_s >= self._settings.linger_s

    async def run_once(self, *, wait_s: float = 0.0) -> Report:
        """Archive everything that waits now; raises Held if another process archives."""
        report = Report()
        async with self.lease(wait_s=wait_s) as lease:
            writer = await self._archive.manifest.open(lease)
            await self._at("opened")
            report.recovered = await self._recover(writer)
            report.collected = len(await writer.collect())
            async for rows in self._segments():
                lease.check()
                await self._move(writer, rows, report)
            report.compacted = await compaction.compact(
                self._archive, writer, self._settings.segment_rows, self._settings.segment_bytes
            )
            if report.compacted:
                report.collected += len(await writer.collect())
        return report

    async def erase_tenant(
        self, tenant: str, *, by: str, reason: str = "", wait_s: float = 0.0
    ) -> Erasure:
        """Erase a tenant from the archive, and its sessions with their transcripts from the store.

        Its other executions in the store stay there.
        """
        # Without a name, sessions of every tenant would be found.
        checks.name("tenant", tenant)
        checks.text("reason", reason, bounds.REASON_CHARS)

        async def is_in_store() -> bool:
            return bool(await self._store.queries.count(tenant))

        async with self.lease(wait_s=wait_s) as lease:
            writer = await self._archive.manifest.open(lease)
            await self._recover(writer)
            sessions = await self._erase_sessions(tenant)
            async with self._store.archives.erasing():
                return await erasure.erase(
                    self._archive,
                    writer,
                    tenant,
                    by=by,
                    reason=reason,
                    is_in_store=is_in_store,
                    sessions=sessions,
                )

    async def _erase_sessions(self, tenant: str) -> int:
        """Remove the sessions of a tenant from the store; returns how many."""
        removed = 0
        sessions = self._store.sessions
        places = (self._archive.objects, StoreObjects(self._store))
        _, former = await self._store.archives.urls()
        files = SessionFiles(places, self._store.sealing, former=[*map(urls.parse, former)])
        while page := await sessions.page(
            tenant=tenant, user=None, before=None, limit=_SESSIONS_IN_CALL
        ):
            for session in page:
                # First: if that fails, the session is found again and says where they are.
                await files.erase(session.id)
                with contextlib.suppress(SessionNotFound):
                    await sessions.erase(session.id)
                    removed += 1
        return removed

    async def _recover(self, writer: ManifestWriter) -> int:
        """Forget executions that a predecessor committed and may not have forgotten."""
        forgotten = 0
        entries = dict(entries_of(writer.snapshot))
        for name in writer.snapshot.facts.get("pending", ()):
            if name in entries:
                whole = await self._archive.load(name, entries[name])
                await self._at("recovering")
                forgotten += await self._store.archives.forget(
                    line.identity for line in whole.index.lines
                )
        return forgotten

    async def _segments(self) -> AsyncIterator[list[Exported]]:
        """Read waiting executions, one portion per segment."""
        portion: list[Exported] = []
        size = 0
        for tag in self._store.tags():
            after: int | None = 0
            while after is not None:
                rows, after = await self._store.archives.batch(
                    tag, after, _ROWS_IN_CALL, _BYTES_IN_CALL
                )
                for row in rows:
                    portion.append(row)
                    size += _size(row)
                    if len(portion) == self._settings.segment_rows or (
                        size >= self._settings.segment_bytes
                    ):
                        yield portion
                        portion, size = [], 0
        if portion:
            yield portion

    async def _move(self, writer: ManifestWriter, rows: list[Exported], report: Report) -> None:
        """Put, commit, forget, in this order."""
        builder = Builder()
        await asyncio.to_thread(builder.add, rows)
        body, entry = await asyncio.to_thread(builder.finish)
        await self._at("before put")
        name = await writer.put(body, ".segment")
        await self._at("before commit")
        await writer.commit(add={name: entry.to_value()}, facts={"pending": [name]})
        await self._at("before forget")
        await self._store.archives.forget(line.identity for line in builder.lines)
        await self._at("after forget")
        report.archived += entry.rows
        report.segments += 1
        report.bytes += entry.bytes


def _size(row: Exported) -> int:
    size = sum(len(name) + len(value) for name, value in row.fields.items())
    for section in row.sections.values():
        size += len(section) if isinstance(section, bytes) else sum(map(len, section))
    return size
