"""A store that runs full at a bad moment: what happened is not denied, and it can be drained."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from holdfast.engine import Engine
from holdfast.errors import OutcomeUnknown, StoreFull
from holdfast.model.executions import Lease
from holdfast.model.states import State
from holdfast.model.workers import Beat
from holdfast.store.store import Store, StoreSettings, open_store
from holdfast.store.valkey import library
from holdfast.store.valkey.blocking import BlockingStore
from holdfast.testing.polling import wait_for
from holdfast.testing.servers import TestServer, start_cluster, start_server
from holdfast.worker.app import App
from tests.support.proxy import CuttingProxy, open_proxy

IMPATIENT = StoreSettings(call_timeout_ms=400)
OUTAGES = "holdfast.outages"


@pytest.fixture
def server() -> Iterator[TestServer]:
    """A server of one's own, to be filled."""
    with start_server() as started:
        yield started


@pytest.fixture
def proxy(server: TestServer) -> Iterator[CuttingProxy]:
    with open_proxy(server.port, Random(0)) as opened:
        yield opened


def fill(*servers: TestServer) -> None:
    """Leave no memory for anything new."""
    _set_maxmemory(1, servers)


def free(*servers: TestServer) -> None:
    """Lift the limit."""
    _set_maxmemory(0, servers)


def _set_maxmemory(size: int, servers: tuple[TestServer, ...]) -> None:
    for server in servers:
        with server.raw() as raw:
            raw.config_set("maxmemory", size)


def _lose_library(*servers: TestServer) -> None:
    for server in servers:
        with server.raw() as raw:
            raw.function_flush()


async def test_a_call_that_happened_is_never_called_refused(
    server: TestServer, proxy: CuttingProxy
) -> None:
    """Its reply was lost, then the store ran full: nobody knows, whatever later tries answer."""
    async with open_store(f"valkey://127.0.0.1:{proxy.port}", IMPATIENT) as store:
        engine = Engine(store)
        proxy.cut_at(b"hf_execution_create", on_lost=lambda: fill(server))
        with pytest.raises(OutcomeUnknown, match="may have happened"):
            await engine.submit("work", id="mine")
        assert (await engine.describe("mine")).state is State.WAITING
        with pytest.raises(StoreFull):
            await engine.submit("work", id="other")
        await engine.close()


async def test_an_answer_that_comes_when_there_is_room_again_counts(
    server: TestServer, proxy: CuttingProxy
) -> None:
    """The call is repeated while the store is full, and gets the first one's answer."""
    settings = StoreSettings(call_timeout_ms=20_000)
    async with open_store(f"valkey://127.0.0.1:{proxy.port}", settings) as store:
        engine = Engine(store)
        proxy.cut_at(b"hf_execution_create", on_lost=lambda: fill(server))
        submitting = asyncio.ensure_future(engine.submit("work", id="mine"))

        async def was_refused() -> bool:
            with server.raw() as raw:
                return int(raw.info("commandstats")["cmdstat_fcall"]["rejected_calls"]) > 0

        await wait_for(was_refused, timeout_s=10)
        free(server)
        submitted = await submitting
        assert (submitted.id, submitted.duplicate) == ("mine", False)
        await engine.close()


async def _drain(engine: Engine) -> None:
    """Do all that a full store allows, with three executions in it."""
    async with engine.claimer(worker="w1") as claimer:
        claims = await claimer.claim(10, 30_000)
    first, second, third = sorted(claims, key=lambda claim: claim.id)
    assert not isinstance((await engine.renew([(first.id, first.lease)]))[0], Exception)
    await engine.complete(first.id, first.lease, b"1")
    await engine.cancel(second.id)
    await engine.delay(third.id, third.lease, 0)
    states = {one.id: (await engine.describe(one.id)).state for one in claims}
    assert states[first.id] is State.COMPLETED
    assert states[second.id] is State.CANCELLED
    assert states[third.id] is not State.ACTIVE
    for tag in engine.store.timed_tags():
        await engine.store.timers.tick(tag, 10)


async def _lives_without_library(url: str, servers: list[TestServer]) -> None:
    async with open_store(url) as store:
        engine = Engine(store)
        for name in ("a", "b", "c"):
            await engine.submit("work", id=name)
        fill(*servers)
        _lose_library(*servers)
        await _drain(engine)
        with pytest.raises(StoreFull):
            await engine.submit("work", id="d")
        await asyncio.to_thread(_check_heartbeats, store)
        # A process that starts now gets in, too.
        async with open_store(url) as later:
            assert later.partitions == store.partitions
        free(*servers)
        await wait_for(lambda: _submitted(engine), timeout_s=10)
        await wait_for(lambda: _loaded(engine, servers), timeout_s=10)
        await engine.close()


async def _submitted(engine: Engine) -> bool:
    return (await engine.submit("work", id="d")).id == "d"


async def _loaded(engine: Engine, servers: list[TestServer]) -> bool:
    await engine.describe("a")
    for server in servers:
        with server.raw() as raw:
            if not raw.function_list():
                return False
    return True


def _check_heartbeats(store: Store) -> None:
    """A heartbeat needs no library either: else leases would be lost in a full store."""
    beats = BlockingStore(store, timeout_s=5)
    try:
        beat = Beat(instance="w1", worker="w", lanes=("default",), slots=1, ttl_ms=30_000)
        assert not beats.register_worker(beat)
        (answer,) = beats.renew([("a", Lease(id="l", epoch=99, attempt=1))], 30_000)
        assert isinstance(answer, Exception)
        beats.remove_worker("w1")
    finally:
        beats.close()


async def test_a_full_store_without_library_can_be_drained(
    server: TestServer, caplog: pytest.LogCaptureFixture
) -> None:
    """What frees memory runs as scripts until the library can be loaded; the log says so once."""
    with caplog.at_level(logging.INFO, OUTAGES):
        await _lives_without_library(f"valkey://127.0.0.1:{server.port}", [server])
    lines = [record.getMessage() for record in caplog.records if record.name == OUTAGES]
    assert len([line for line in lines if line.startswith("the store is full")]) == 1
    assert len([line for line in lines if line.startswith("the store accepts new data")]) == 1
    assert len([line for line in lines if "is loaded, after" in line]) == 1


async def test_a_full_store_without_library_acknowledges(tmp_path: Path) -> None:
    """What calls wait for on their connection needs no library either."""
    with start_server("--appendonly", "yes", folder=tmp_path) as server:
        await _lives_without_library(f"valkey://127.0.0.1:{server.port}?ack=disk", [server])


@pytest.mark.timeout(90)
async def test_a_full_cluster_without_library_can_be_drained() -> None:
    """Each primary has its own memory and its own library."""
    with start_cluster(primaries=3) as nodes:
        places = ",".join(f"127.0.0.1:{node.port}" for node in nodes)
        await _lives_without_library(f"valkey-cluster://{places}?partitions=8", list(nodes))


async def test_a_worker_starts_in_a_full_store(server: TestServer) -> None:
    """It runs what is there, and puts its schedules into the store when that has room."""
    app = App(f"valkey://127.0.0.1:{server.port}")

    @app.schedule(id="daily", cron="0 6 * * *")
    @app.task
    async def work() -> int:
        return 42

    async with app:
        handle = await work.submit()
        fill(server)
        async with app.worker():
            assert await handle.result(timeout=20) == 42
            assert (await app.engine.schedules.list()).items == ()
            free(server)

            async def is_scheduled() -> bool:
                return [one.id for one in (await app.engine.schedules.list()).items] == ["daily"]

            await wait_for(is_scheduled, timeout_s=20)


@pytest.mark.parametrize("fake_clock", [False, True])
def test_every_function_is_also_a_script(server: TestServer, *, fake_clock: bool) -> None:
    """Servers compile them all, and they have the flags of the function."""
    functions = [
        (source, name)
        for source in library.sources().values()
        if not source.is_lib
        for name in (source.function, source.owned_function)
        if name == source.function or source.header.owned
    ]
    with server.raw() as raw:
        for source, name in functions:
            script = library.script(name, fake_clock=fake_clock)
            assert raw.script_load(script)
            first, _, _ = script.partition("\n")
            flags = "".join(f" flags={flag}" for flag in library.FLAGS[source.header.flags])
            assert first == f"#!lua{flags}"
