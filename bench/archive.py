"""Writer leases by kind of object store, and the archive: rates, bytes, memory."""

from __future__ import annotations

import contextlib
import resource
import shutil
import tempfile
import time
from collections.abc import AsyncIterator
from statistics import median, quantiles

from bench import workloads
from holdfast.archive import Archive, Archiver
from holdfast.engine import Engine
from holdfast.fencing import FolderObjects, MemoryObjects, ObjectStore
from holdfast.fencing.in_store import StoreObjects
from holdfast.fencing.leases import Leases
from holdfast.model.executions import NewExecution
from holdfast.model.writer_leases import Ask
from holdfast.testing.polling import wait_for

LEASE_ROUNDS = 100
LOOKUPS = 200
_BATCH = 1_000

Figures = dict[str, float]


@contextlib.asynccontextmanager
async def _folder() -> AsyncIterator[FolderObjects]:
    path = tempfile.mkdtemp(prefix="holdfast-bench-")
    try:
        yield FolderObjects(path)
    finally:
        shutil.rmtree(path, ignore_errors=True)


async def measure_leases(engine: Engine) -> Figures:
    """Return ms of acquire, refresh and release by kind of object store."""
    figures: Figures = {}
    async with _folder() as folder:
        stores: dict[str, ObjectStore] = {
            "memory": MemoryObjects(),
            "folder": folder,
            "valkey": StoreObjects(engine.store),
        }
        for name, store in stores.items():
            figures |= await _lease_latencies(name, store)
    with contextlib.suppress(ImportError):
        from tests.support.objects import s3_objects, start_s3  # noqa: PLC0415 - needs moto

        with start_s3() as address:
            figures |= await _lease_latencies("S3 (moto)", s3_objects(address, "bench"))
    return figures


async def _lease_latencies(name: str, store: ObjectStore) -> Figures:
    leases = Leases(store)
    times: dict[str, list[float]] = {"acquire": [], "refresh": [], "release": []}
    ask = Ask(holder="bench", incarnation="bench", ttl_ms=10_000, margin_ms=1_000)
    for _ in range(LEASE_ROUNDS):
        marks = [time.perf_counter()]
        grant = await leases.acquire("bench", ask)
        marks.append(time.perf_counter())
        grant = await leases.refresh(grant)
        marks.append(time.perf_counter())
        await leases.release(grant)
        marks.append(time.perf_counter())
        for verb, start, end in zip(times, marks[:-1], marks[1:], strict=True):
            times[verb].append((end - start) * 1000)
    figures: Figures = {}
    for verb, spans in times.items():
        figures[f"{name}: {verb} p50 ms"] = median(spans)
        figures[f"{name}: {verb} p99 ms"] = quantiles(spans, n=100)[98]
    return figures


async def measure_archive(engine: Engine, count: int) -> Figures:
    """Archive and read back executions with an input and a result of 100 bytes."""
    await engine.store.archives.set_url("file:///bench")
    payload = b'"' + b"x" * 98 + b'"'
    for _ in range(count // _BATCH):
        items = [
            NewExecution(kind="bench", input=payload, retention_ms=0, tenant=f"t{n % 10}")
            for n in range(_BATCH)
        ]
        await engine.submit_many(items)
    await workloads.drain(engine, count)

    async def all_wait() -> bool:
        return (await engine.store.archives.waiting())[0] == count

    await wait_for(all_wait, timeout_s=300)
    async with _folder() as objects:
        before = _peak_mib()
        start = time.perf_counter()
        report = await Archiver(engine.store, objects).run_once()
        spent = time.perf_counter() - start
        archive = Archive(objects)
        figures = {
            "executions": float(report.archived),
            "archived /s": report.archived / spent,
            "bytes per execution": report.bytes / report.archived,
            "growth of peak memory, archiving, MiB": _peak_mib() - before,
        }
        start = time.perf_counter()
        rows = [row.id async for row in archive.rows()]
        figures["read back /s"] = len(rows) / (time.perf_counter() - start)
        figures["growth of peak memory, all, MiB"] = _peak_mib() - before
        spans = []
        for execution_id in rows[:: max(1, len(rows) // LOOKUPS)]:
            start = time.perf_counter()
            await archive.get(execution_id)
            spans.append((time.perf_counter() - start) * 1000)
        figures["look-up p50 ms"] = median(spans)
        figures["look-up p99 ms"] = quantiles(spans, n=100)[98]
        start = time.perf_counter()
        await archive.page(limit=50)
        figures["list 50 ms"] = (time.perf_counter() - start) * 1000
    return figures


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
