"""`?ack=`: what was acknowledged is on the replica, or on disk; what is not there is unknown."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import valkey

from holdfast.backup import restore, restoring, take
from holdfast.errors import (
    BackendFailed,
    HoldfastError,
    OutcomeUnknown,
    StoreIncompatible,
    StoreUnavailable,
)
from holdfast.fencing.in_store import StoreObjects
from holdfast.fencing.leases import Leases
from holdfast.fencing.memory import MemoryObjects
from holdfast.model.executions import NewExecution
from holdfast.model.writer_leases import Ask
from holdfast.store.store import Store, StoreSettings, connected, open_store
from holdfast.store.valkey.wire import Command
from holdfast.testing.polling import wait_for
from holdfast.testing.servers import TestServer, start_server
from tests.support.fault_injection import before_calls
from tests.support.killing import kill, restart
from tests.support.lifecycle import state_of

#: Short: what cannot be acknowledged is given up soon.
BRIEF = StoreSettings(call_timeout_ms=600)


def url(server: TestServer, ack: str = "") -> str:
    return f"valkey://127.0.0.1:{server.port}?partitions=4" + (f"&ack={ack}" if ack else "")


@pytest.fixture
async def pair() -> AsyncIterator[tuple[TestServer, TestServer]]:
    """A primary with its replica."""
    with start_server() as primary, start_server() as replica:
        follow(replica, primary)
        await wait_for(lambda: asyncio.to_thread(is_linked, replica))
        yield primary, replica


def follow(replica: TestServer, primary: TestServer) -> None:
    with replica.raw() as raw:
        raw.replicaof("127.0.0.1", primary.port)


def is_linked(replica: TestServer) -> bool:
    with replica.raw() as raw:
        return bool(raw.info("replication")["master_link_status"] == "up")


def waits(server: TestServer, command: str = "wait") -> int:
    """Return how often a server was asked to wait."""
    with server.raw() as raw:
        return int(raw.info("commandstats").get(f"cmdstat_{command}", {}).get("calls", 0))


def read_log(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.glob("appendonlydir/*.incr.aof"))


@contextmanager
def paused(server: TestServer) -> Iterator[None]:
    os.kill(server.process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(server.process.pid, signal.SIGCONT)


async def create(store: Store, **fields: Any) -> str:
    """Create an execution; raises what it is refused with."""
    (answer,) = await store.executions.create([NewExecution(kind="work", **fields)])
    if isinstance(answer, HoldfastError):
        raise answer
    return answer.id


async def submit(store: Store, acknowledged: list[str]) -> None:
    """Submit until the store is gone."""
    try:
        while True:
            acknowledged.append(await create(store))
    except HoldfastError:
        return


async def has(acknowledged: list[str], count: int) -> bool:
    return len(acknowledged) >= count


async def test_a_promoted_replica_has_all_that_was_acknowledged(
    pair: tuple[TestServer, TestServer],
) -> None:
    """The primary is killed under load; its replica takes over."""
    primary, replica = pair
    acknowledged: list[str] = []
    async with open_store(url(primary, "replicas:1"), BRIEF) as store:
        load = [asyncio.create_task(submit(store, acknowledged)) for _ in range(8)]
        await wait_for(lambda: has(acknowledged, 300))
        kill(primary)
        await asyncio.gather(*load)
    with replica.raw() as raw:
        raw.replicaof("NO", "ONE")
        found = {key.decode().rpartition(":")[2] for key in raw.scan_iter("hf:{p:*}:x:*", 1000)}
    assert set(acknowledged) <= found
    async with open_store(url(replica)) as store:
        await create(store)


async def test_a_restore_ends_when_the_replica_has_the_backup(
    pair: tuple[TestServer, TestServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the replica it fails, and the store cannot be opened until it is restored again."""
    primary, replica = pair
    objects = MemoryObjects()
    async with open_store(url(primary)) as store:
        ids = {await create(store) for _ in range(20)}
        await take(store, objects, name="a")
    monkeypatch.setattr(restoring, "_ACK_S", 0)
    async with connected(url(primary, "replicas:1"), BRIEF) as (client, target):
        with (
            paused(replica),
            pytest.raises(StoreUnavailable, match="0 of 1 replicas have it after 300 ms"),
        ):
            await restore(client, target, objects, "a", force=True)
        with pytest.raises(StoreIncompatible):
            async with open_store(url(primary)):
                pass
        monkeypatch.undo()
        await restore(client, target, objects, "a", force=True)
        kill(primary)
    with replica.raw() as raw:
        raw.replicaof("NO", "ONE")
    async with open_store(url(replica)) as store:
        for one in ids:
            assert str(await state_of(store, one)) == "waiting"


async def test_a_restore_fails_if_another_server_takes_over_in_the_middle(
    pair: tuple[TestServer, TestServer], tmp_path: Path
) -> None:
    """It may lack what was written before, although its replicas have all that it has."""
    primary, replica = pair
    objects = MemoryObjects()
    async with open_store(url(primary)) as store:
        await create(store)
        await take(store, objects, name="a")
    other: list[TestServer] = []

    async def take_over(command: Command) -> None:
        if command[0] == "EVAL" and not other:
            kill(primary)
            other.append(restart(primary, tmp_path))
            await wait_for(lambda: asyncio.to_thread(_answers, other[0]))
            await wait_for(lambda: asyncio.to_thread(is_linked, replica))

    try:
        async with connected(url(primary, "replicas:1"), BRIEF) as (client, target):
            with (
                before_calls(client, take_over),
                pytest.raises(StoreUnavailable, match="other servers than"),
            ):
                await restore(client, target, objects, "a", force=True)
        assert other
    finally:
        for server in other:
            kill(server)


def _answers(server: TestServer) -> bool:
    try:
        with server.raw() as raw:
            return bool(raw.ping())
    except (valkey.exceptions.ConnectionError, valkey.exceptions.BusyLoadingError):
        return False


async def test_without_the_replica_the_outcome_is_unknown(
    pair: tuple[TestServer, TestServer],
) -> None:
    """Reads go on, and so do writes when the replica is back."""
    primary, replica = pair
    async with (
        open_store(url(primary, "replicas:1"), BRIEF) as store,
        open_store(url(primary)) as other,
    ):
        known = await create(store)
        with paused(replica):
            with pytest.raises(OutcomeUnknown, match="0 of 1 replicas have it after 300 ms"):
                await create(store, id="unsure")
            assert str(await state_of(store, known)) == "waiting"
            # What another connection wrote is no more on the replica than what this one did.
            await create(other, id="twice")
            with pytest.raises(OutcomeUnknown):
                await create(store, id="twice")
        assert await create(store, id="unsure") == "unsure"
        assert await create(store, id="twice") == "twice"


async def test_an_object_that_no_replica_has_is_not_read_as_written(
    pair: tuple[TestServer, TestServer],
) -> None:
    """Writer leases read back what they wrote if its answer is lost: cluster 200066."""
    primary, replica = pair
    ask = Ask(holder="one", incarnation="1", ttl_ms=60_000, margin_ms=50)
    async with open_store(url(primary, "replicas:1"), BRIEF) as store:
        objects = StoreObjects(store)
        with paused(replica):
            with pytest.raises(BackendFailed, match="it may have happened"):
                await objects.put_if_absent("mine", b"1")
            with pytest.raises(BackendFailed, match="cannot be read"):
                await objects.get("mine")
            with pytest.raises(BackendFailed):
                await Leases(objects).acquire("main", ask)
        found = await objects.get("mine")
        assert found is not None
        assert found.body == b"1"
        assert (await Leases(objects).acquire("main", ask)).token == (1, 1)


async def test_calls_share_their_waits(pair: tuple[TestServer, TestServer]) -> None:
    """A hundred calls at once wait a few times, and reads never do."""
    primary, _ = pair
    async with open_store(url(primary, "replicas:1")) as store:
        before = waits(primary)
        ids = await asyncio.gather(*(create(store) for _ in range(100)))
        assert 1 <= waits(primary) - before <= 10
        before = waits(primary)
        await asyncio.gather(*(state_of(store, one) for one in ids))
        assert waits(primary) == before


async def test_on_disk_means_on_disk(tmp_path: Path) -> None:
    """A server that syncs every second answers after its sync; one without a log cannot."""
    options = ("--appendonly", "yes", "--appendfsync", "everysec")
    with start_server(*options, folder=tmp_path) as server:
        async with open_store(url(server, "disk")) as store:
            ids = await asyncio.gather(*(create(store) for _ in range(20)))
            assert waits(server, "waitaof") >= 1
            with server.raw() as raw:
                # The file has them before any further sync.
                raw.config_set("appendfsync", "no")
            log = await asyncio.to_thread(read_log, tmp_path)
            assert all(one.encode() in log for one in ids)
    with start_server() as server, pytest.raises(OutcomeUnknown, match="appendonly is disabled"):
        async with open_store(url(server, "disk"), BRIEF):
            pass


async def test_reads_that_run_as_scripts_wait_for_nothing(
    pair: tuple[TestServer, TestServer],
) -> None:
    """A full primary that has lost its library answers them without its replica, too."""
    primary, replica = pair
    async with open_store(url(primary, "replicas:1"), BRIEF) as store:
        known = await create(store)
        with primary.raw() as raw:
            raw.config_set("maxmemory", 1)
            raw.function_flush()
        with paused(replica):
            assert str(await state_of(store, known)) == "waiting"
            with pytest.raises(OutcomeUnknown):
                await store.executions.cancel(known, "no more")
        assert str(await state_of(store, known)) == "cancelled"
