"""Examining a store step by step, so that one that cannot be opened is still described."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from holdfast.cli import drift, findings
from holdfast.cli.findings import Facts, Finding, ok, problem, warning
from holdfast.cli.terminal import output
from holdfast.cli.terminal.opening import BOOT_TIMEOUT_MS, CALL_TIMEOUT_MS
from holdfast.engine import Engine
from holdfast.errors import (
    BackendFailed,
    InvalidRecord,
    StoreFault,
    StoreIncompatible,
    StoreUnavailable,
)
from holdfast.model.states import State
from holdfast.store.store import Store, StoreSettings
from holdfast.store.valkey import boot, library
from holdfast.store.valkey.client import CallFailed, Client
from holdfast.store.valkey.embedded import EmbeddedServer
from holdfast.store.valkey.urls import StoreUrl

_SETTINGS = StoreSettings(call_timeout_ms=CALL_TIMEOUT_MS, boot_timeout_ms=BOOT_TIMEOUT_MS)

#: Timers may be this late before somebody should look why.
_LATE_S = 1.5
_LOOK_EVERY_S = 0.1
_MOST_QUEUES = 1_000


async def examine(url: StoreUrl, *, fix: bool, drift: bool) -> list[Finding]:
    """Return what is found, from the server up; raises if nothing answers."""
    async with _connected(url) as (client, target):
        try:
            await boot.wait_until_loaded(client, _SETTINGS.boot_timeout_ms)
            found = await _servers(client)
            found.append(await _library(client, fix=fix))
        except CallFailed as failure:
            raise _trouble(failure) from failure
        if any(finding.status is findings.Status.PROBLEM for finding in _blocking(found)):
            return found
        store = Store(client, target, _SETTINGS)
        try:
            await store.boot()
        except StoreIncompatible as error:
            return [*found, problem("data", error.message, "")]
        found.append(ok("data", "of this version, readable"))
        engine = Engine(store)
        try:
            found += await _contents(engine, search_drift=drift)
        finally:
            await engine.close()
        return found


def _blocking(found: list[Finding]) -> list[Finding]:
    """Without these nothing more can be asked of the store."""
    return [finding for finding in found if finding.check in ("server", "memory", "library")]


@contextlib.asynccontextmanager
async def _connected(url: StoreUrl) -> AsyncIterator[tuple[Client, StoreUrl]]:
    """Connect without any check of the store."""
    async with contextlib.AsyncExitStack() as stack:
        if url.path is not None:
            server = EmbeddedServer(url.path, url.fsync)
            stack.push_async_callback(server.stop)
            await server.start()
            url = replace(url, addresses=(("127.0.0.1", server.port),), password=server.password)
        client = await Client.connect(url, timeout_ms=BOOT_TIMEOUT_MS)
        stack.push_async_callback(client.close)
        yield client, url


def _trouble(failure: CallFailed) -> StoreFault | StoreUnavailable:
    kind = StoreFault if failure.answered else StoreUnavailable
    return kind(f"the store cannot be examined: {failure.text}")


async def _servers(client: Client) -> list[Finding]:
    """Judge every primary: kind, durability, replication, memory, clock."""
    infos = [_text(reply) for reply in await client.on_primaries(["INFO", "everything"])]
    facts = [findings.parse_info(info) for info in infos]
    settings = await _configuration(client)
    durable = [findings.durability(one) for one in settings]
    memory = [findings.memory(one) for one in facts]
    return [
        *_kinds(infos, facts, cluster=client.cluster),
        _worst(durable),
        findings.replication(facts, settings[0], cluster=client.cluster),
        _worst(memory),
        findings.clock(await _skews_ms(client)),
    ]


def _kinds(infos: list[str], facts: list[Facts], *, cluster: bool) -> list[Finding]:
    versions = sorted({one.get("valkey_version", "unknown") for one in facts})
    kind = f"a cluster of {len(facts)} primaries" if cluster else "one server"
    for info in infos:
        try:
            boot.check_server(info)
        except StoreIncompatible as error:
            # Eviction has a finding of its own.
            if "policy" not in error.context:
                return [problem("server", error.message, "")]
    return [ok("server", f"Valkey {', '.join(versions)}, {kind}")]


def _worst(found: list[Finding]) -> Finding:
    """Return the finding of the primary that is worst off."""
    order = list(findings.Status)
    return max(found, key=lambda finding: order.index(finding.status))


async def _configuration(client: Client) -> list[Facts | None]:
    """Return persistence settings of each primary; None where we may not ask."""
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


async def _library(client: Client, *, fix: bool) -> Finding:
    ours = library.load()
    if fix and not await _load(client, ours):
        return findings.library_denied()
    listings = await client.on_primaries(["FUNCTION", "LIST", "LIBRARYNAME", library.NAME])
    loaded = [
        next((mark for name in _names(listing) if (mark := library.parse_marker(name))), (0, ""))
        for listing in listings
    ]
    return findings.library(loaded, (ours.revision, ours.digest))


async def _load(client: Client, ours: library.Library) -> bool:
    """Load our library; returns whether the servers had room for it."""
    try:
        await client.on_primaries(["FUNCTION", "LOAD", "REPLACE", ours.code])
    except CallFailed as failure:
        if not failure.is_full:
            raise
        return False
    return True


def _names(value: Any) -> list[str]:
    """Return every text in a reply of nested maps and lists."""
    if isinstance(value, dict):
        return _names([*value.keys(), *value.values()])
    if isinstance(value, list):
        return [name for item in value for name in _names(item)]
    return [value.decode()] if isinstance(value, bytes) else []


async def _contents(engine: Engine, *, search_drift: bool) -> list[Finding]:
    """Judge what is in the store."""
    store = engine.store
    found = [ok("partitions", f"{store.partitions}, prefix {store.prefix}")]
    timers = await _timers(store)
    found += [timers, findings.services(await store.services.list()), await _lanes(engine)]
    found += [await _queues(engine), await _archive(engine)]
    if search_drift:
        total = sum(cell.count for cell in await engine.count())
        with output.progress("comparing indexes", total) as advance:
            due_matters = timers.status is findings.Status.OK
            drifted = await drift.search(engine, advance, check_due=due_matters)
        if drifted:
            advice = "please report it, with these ids: " + "; ".join(drifted[:5])
            found.append(problem("drift", f"{len(drifted)} disagreements", advice))
        else:
            executions = output.count(total, "execution")
            found.append(ok("drift", f"lists, counts and queues agree on {executions}"))
    return found


async def _timers(store: Store) -> Finding:
    """Find timers that are due and that nobody fires; looking with a limit of 0 fires none."""
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
        detail = f"due timers of {len(late)} partitions are not fired"
        return warning("timers", detail, "no process does it: start a worker")
    return ok("timers", "none is overdue" if waited < _LOOK_EVERY_S else f"{waited:.1f} s late")


async def _lanes(engine: Engine) -> Finding:
    """Find work that nobody will take."""
    views = await engine.lanes.views()
    workers = await engine.workers.list()
    abandoned = [view.lane for view in views if view.counts.get(State.WAITING) and not view.workers]
    if abandoned:
        detail = f"executions wait on lanes without workers: {', '.join(abandoned)}"
        return warning("workers", detail, "start a worker for them, see `holdfast workers`")
    waiting = [one for one in await engine.count() if one.state is State.WAITING]
    lacking = {
        f"{one.kind} on lane {one.lane}"
        for one in waiting
        if not any(w.serves(one.lane, one.tenant) and w.has(one.kind) for w in workers)
    }
    if lacking:
        detail = f"executions wait for tasks that no worker has: {', '.join(sorted(lacking))}"
        return warning("workers", detail, "`holdfast explain ID` says what may have been meant")
    return ok("workers", f"{len(workers)} alive")


async def _queues(engine: Engine) -> Finding:
    queues = await engine.queues.list(limit=_MOST_QUEUES)
    stats = await asyncio.gather(*(engine.queues.stats(one.name) for one in queues))
    return findings.queues({one.name: found for one, found in zip(queues, stats, strict=True)})


async def _archive(engine: Engine) -> Finding:
    try:
        return findings.archive(await engine.archive.survey())
    except (BackendFailed, InvalidRecord) as error:
        advice = "what has ended stays in memory until it can be written"
        return problem("archive", error.message, advice)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
