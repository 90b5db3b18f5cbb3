"""The doctor: check that a store is sound, and report its guarantees.

`examine` takes the URL of a store, even of one that cannot be opened; it can load the function
library and verify every index. `check` examines a store that a process has open, within a bounded
time and without changing anything; a server answers with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

from holdfast.errors import (
    BackendFailed,
    HoldfastError,
    InvalidRecord,
    QueueNotFound,
    StoreFault,
    StoreIncompatible,
    StoreUnavailable,
)
from holdfast.model.findings import Finding, Level, error, ok, warning
from holdfast.model.queues import QueueStats
from holdfast.model.states import State
from holdfast.operate import declared, drains, encryption, findings
from holdfast.operate.findings import Facts
from holdfast.operate.verify import Advance, verify
from holdfast.store.engine import StoreEngine
from holdfast.store.store import Store, StoreSettings
from holdfast.store.valkey import boot, keys, library
from holdfast.store.valkey.client import Client
from holdfast.store.valkey.embedded import EmbeddedServer
from holdfast.store.valkey.failures import CallFailed
from holdfast.store.valkey.urls import StoreUrl

#: How long `check` waits for each answer; it asks all questions at once.
CHECK_S = 5.0
#: How late timers can be before the doctor warns.
_LATE_S = 1.5
_LOOK_EVERY_S = 0.1
_MOST_QUEUES = 1_000
#: The most names in a finding, so that its length is bounded.
_MOST_NAMED = 20


async def examine(
    url: StoreUrl,
    engine_on: Callable[[Store], StoreEngine],
    *,
    settings: StoreSettings | None = None,
    fix: bool = False,
    deep: bool = False,
    advance: Advance | None = None,
) -> list[Finding]:
    """Examine a store, starting with its server; raise StoreUnavailable if nothing answers.

    `engine_on` creates an engine on the open store. `fix` loads the function library on every
    primary. `deep` verifies every index, which takes time; `advance` reports its progress.
    """
    settings = settings or StoreSettings()
    async with _connected(url, settings) as (client, target):
        try:
            await boot.wait_until_loaded(client, settings.boot_timeout_ms)
            results = await _servers(client, url)
            # Before the library: processes that read another format must not get this one.
            if (other := await _other_format(client, target.prefix)) is not None:
                return [*results, other]
            results.append(await _library(client, fix=fix))
        except CallFailed as failure:
            raise _trouble(failure) from failure
        if any(finding.level is Level.ERROR for finding in _blocking(results)):
            return results
        store = Store(client, target, settings)
        try:
            await store.boot()
        except StoreIncompatible as incompatible:
            return [*results, error("data", incompatible.message)]
        results.append(ok("data", "of this version, readable"))
        engine = engine_on(store)
        try:
            for ask in _CONTENTS.values():
                results.append(await ask(engine))
            if deep:
                results.append(await _drift(engine, advance))
        finally:
            await engine.close()
        return results


async def check(engine: StoreEngine, *, within_s: float = CHECK_S) -> list[Finding]:
    """Examine the store of an engine: the same checks without `fix` and `deep`.

    Every check ends within the given time. A check without an answer becomes a finding.
    """

    async def servers() -> list[Finding]:
        return await _servers(engine.store.client, engine.store.url)

    async def loaded() -> list[Finding]:
        return [await _library(engine.store.client, fix=False)]

    async def content(ask: Check) -> list[Finding]:
        return [await ask(engine)]

    asked = [
        _answered("server", servers(), within_s),
        _answered("library", loaded(), within_s),
        *(_answered(name, content(ask), within_s) for name, ask in _CONTENTS.items()),
    ]
    return [finding for answer in await asyncio.gather(*asked) for finding in answer]


async def _answered(name: str, asking: Awaitable[list[Finding]], within_s: float) -> list[Finding]:
    """Return the answer, or a finding that says why there is none."""
    try:
        async with asyncio.timeout(within_s):
            return await asking
    except TimeoutError:
        fix = "the store is slow or unreachable: run `holdfast doctor` close to it"
        return [error(name, f"no answer within {within_s:g} s", fix)]
    except CallFailed as failure:
        return [error(name, _trouble(failure).message)]
    except HoldfastError as refusal:
        return [error(name, refusal.message)]


def _blocking(results: list[Finding]) -> list[Finding]:
    """Return the findings that decide whether the store can be examined further."""
    return [finding for finding in results if finding.check in ("server", "memory", "library")]


@contextlib.asynccontextmanager
async def _connected(
    url: StoreUrl, settings: StoreSettings
) -> AsyncIterator[tuple[Client, StoreUrl]]:
    """Connect without checking the store. The doctor itself waits for no acknowledgements."""
    async with contextlib.AsyncExitStack() as stack:
        url = replace(url, ack=None)
        if url.path is not None:
            server = EmbeddedServer(url.path, url.fsync)
            stack.push_async_callback(server.stop)
            await server.start()
            url = replace(url, addresses=(("127.0.0.1", server.port),), password=server.password)
        client = await Client.connect(url, timeout_ms=settings.boot_timeout_ms)
        stack.push_async_callback(client.close)
        yield client, url


def _trouble(failure: CallFailed) -> StoreFault | StoreUnavailable:
    kind = StoreFault if failure.answered else StoreUnavailable
    return kind(f"the store cannot be examined: {failure.text}")


async def _servers(client: Client, url: StoreUrl) -> list[Finding]:
    """Examine every primary: version, durability, replication, memory, clock."""
    infos = [_text(reply) for reply in await client.on_primaries(["INFO", "everything"])]
    facts = [findings.parse_info(info) for info in infos]
    settings = await _configuration(client)
    durable = [findings.durability(server, url.ack) for server in settings]
    memory = [findings.memory(server) for server in facts]
    return [
        *_kinds(infos, facts, cluster=client.cluster),
        _worst(durable),
        findings.replication(facts, settings, url),
        _worst(memory),
        findings.clock(await _skews_ms(client)),
    ]


def _kinds(infos: list[str], facts: list[Facts], *, cluster: bool) -> list[Finding]:
    versions = sorted({server.get("valkey_version", "unknown") for server in facts})
    kind = f"a cluster of {len(facts)} primaries" if cluster else "one server"
    for info in infos:
        try:
            boot.check_server(info)
        except StoreIncompatible as incompatible:
            # Eviction has a finding of its own.
            if "policy" not in incompatible.context:
                return [error("server", incompatible.message)]
    return [ok("server", f"Valkey {', '.join(versions)}, {kind}")]


def _worst(results: list[Finding]) -> Finding:
    """Return the worst finding of all primaries."""
    order = list(Level)
    return max(results, key=lambda finding: order.index(finding.level))


async def _configuration(client: Client) -> list[Facts | None]:
    """Return the persistence settings of each primary; None if reading them is not allowed."""
    names = ("appendonly", "appendfsync", "min-replicas-to-write")
    try:
        replies = await client.on_primaries(["CONFIG", "GET", *names])
    except CallFailed as failure:
        if not failure.answered:
            raise
        return [None]
    return [_pairs(reply) for reply in replies]


def _pairs(reply: Any) -> Facts:
    """Return a map reply, which older protocols send as a list."""
    pairs = reply.items() if isinstance(reply, dict) else zip(reply[::2], reply[1::2], strict=True)
    return {_text(name): _text(value) for name, value in pairs}


async def _skews_ms(client: Client) -> list[float]:
    before = time.time()
    replies = await client.on_primaries(["TIME"])
    ours = (before + time.time()) / 2
    return [(int(seconds) + int(micros) / 1e6 - ours) * 1000 for seconds, micros in replies]


async def _other_format(client: Client, prefix: str) -> Finding | None:
    try:
        await boot.check_stored_format(client, keys.global_tag(prefix))
    except StoreIncompatible as incompatible:
        return error("data", incompatible.message)
    return None


async def _library(client: Client, *, fix: bool) -> Finding:
    ours = library.load()
    if fix:
        try:
            # It keeps a newer one, and one that reads another format.
            await boot.load_library(client, ours)
        except StoreIncompatible as incompatible:
            return error("library", incompatible.message)
        except CallFailed as failure:
            if not failure.is_full:
                raise
            return findings.library_denied()
    listings = await client.on_primaries(["FUNCTION", "LIST", "LIBRARYNAME", library.NAME])
    loaded = [
        next((mark for name in _names(listing) if (mark := library.parse_marker(name))), (0, ""))
        for listing in listings
    ]
    return findings.library(loaded, (ours.release, ours.digest))


def _names(value: Any) -> list[str]:
    """Return every text in a reply of nested maps and lists."""
    if isinstance(value, dict):
        return _names([*value.keys(), *value.values()])
    if isinstance(value, list):
        return [name for item in value for name in _names(item)]
    return [value.decode()] if isinstance(value, bytes) else []


async def _partitions(engine: StoreEngine) -> Finding:
    return ok("partitions", f"{engine.store.partitions}, prefix {engine.store.prefix}")


async def _services(engine: StoreEngine) -> Finding:
    return findings.services(await engine.store.services.list())


async def _drift(engine: StoreEngine, advance: Advance | None) -> Finding:
    """Compare every index with the records."""
    found = await verify(engine.store, advance=advance)
    if found.left:
        fix = "`holdfast verify` lists them, `holdfast verify --fix` repairs them; please report: "
        return error("drift", f"{len(found.left)} disagreements", fix + str(found.left[0].drift))
    return ok("drift", f"{found.entries:,} entries of indexes agree with {found.keys:,} keys")


async def _timers(engine: StoreEngine) -> Finding:
    """Find due timers that no process fires. A tick with a limit of 0 fires none."""
    store = engine.store
    start = time.monotonic()
    late = [*store.tags(), store.global_tag]
    waited = 0.0
    while late and waited < _LATE_S:
        looks = await asyncio.gather(*(store.timers.tick(tag, 0) for tag in late))
        late = [tag for tag, (_, sleep_ms) in zip(late, looks, strict=True) if sleep_ms == 0]
        waited = time.monotonic() - start
        if late:
            await asyncio.sleep(_LOOK_EVERY_S)
    if late:
        text = f"due timers of {len(late)} partitions are not fired"
        return warning("timers", text, "no process fires them: start a worker or a server")
    return ok("timers", "none is overdue" if waited < _LOOK_EVERY_S else f"{waited:.1f} s late")


async def _lanes(engine: StoreEngine) -> Finding:
    """Find executions that no worker can claim."""
    views = await engine.lanes.views()
    workers = await engine.workers.list()
    abandoned = [view.lane for view in views if view.counts.get(State.WAITING) and not view.workers]
    if abandoned:
        text = f"executions wait on lanes without workers: {_named(abandoned)}"
        return warning(
            "workers", text, "start a worker for them; `holdfast workers` lists the live ones"
        )
    waiting = [cell for cell in await engine.count() if cell.state is State.WAITING]
    lacking = {
        f"{cell.kind} on lane {cell.lane}"
        for cell in waiting
        if not any(w.serves(cell.lane, cell.tenant) and w.has(cell.kind) for w in workers)
    }
    if lacking:
        text = f"executions wait for tasks that no worker has: {_named(sorted(lacking))}"
        return warning(
            "workers", text, "`holdfast explain ID` suggests the names that may have been meant"
        )
    return ok("workers", f"{len(workers)} alive")


def _named(names: list[str]) -> str:
    rest = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")


async def _queues(engine: StoreEngine) -> Finding:
    queues = await engine.queues.list(limit=_MOST_QUEUES)
    stats = await asyncio.gather(*(_stats(engine, queue.name) for queue in queues))
    return findings.queues(
        {
            queue.name: counts
            for queue, counts in zip(queues, stats, strict=True)
            if counts is not None
        }
    )


async def _stats(engine: StoreEngine, queue: str) -> QueueStats | None:
    """Count the messages of a queue; None if it was deleted meanwhile."""
    try:
        return await engine.queues.stats(queue)
    except QueueNotFound:
        return None


async def _archive(engine: StoreEngine) -> Finding:
    try:
        return findings.archive(await engine.archive.survey())
    except (BackendFailed, InvalidRecord) as failure:
        fix = "ended executions stay in memory until they can be archived"
        return error("archive", failure.message, fix)


Check = Callable[[StoreEngine], Awaitable[Finding]]

#: The checks of the contents of a store, in order.
_CONTENTS: dict[str, Check] = {
    "partitions": _partitions,
    "timers": _timers,
    "services": _services,
    "workers": _lanes,
    "limits": declared.limits,
    "schedules": declared.schedules,
    "drains": drains.drains,
    "queues": _queues,
    "archive": _archive,
    "encryption": encryption.look,
}


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
