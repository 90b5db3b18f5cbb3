"""`holdfast doctor`: sound stores are called sound, and each trouble is found."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

from holdfast.archive import set_archive
from holdfast.archive.archive import KEY
from holdfast.engine import Engine
from holdfast.fencing import paths
from holdfast.fencing.folder import FolderObjects
from holdfast.model.findings import Level
from holdfast.operate import snapshot
from holdfast.operate.doctor import examine
from holdfast.store.store import open_store
from holdfast.store.valkey.urls import StoreUrl
from holdfast.testing.clock import Clock
from holdfast.testing.servers import TestServer
from tests.acceptance.processes import ROOT
from tests.acceptance.test_cli import holdfast


async def _doctor(folder: Path, *options: str) -> tuple[int, dict[str, Any]]:
    """Run the doctor on a store that this process holds open."""
    store = f"embedded://{folder}"
    shown = await asyncio.to_thread(
        holdfast, "doctor", "--store", store, "--json", *options, folder=folder
    )
    found = json.loads(shown.stdout)
    return shown.returncode, {item["check"]: item for item in found["findings"]}


async def test_a_fresh_embedded_store_is_sound(tmp_path: Path) -> None:
    """Everything is ok, and the durability in force is named."""
    async with open_store(f"embedded://{tmp_path}"):
        code, found = await _doctor(tmp_path, "--deep")
    assert (code, {item["level"] for item in found.values()}) == (0, {"ok"})
    assert "appendfsync always" in found["durability"]["text"]
    assert found.keys() >= {"server", "memory", "clock", "library", "timers", "drift"}


async def test_a_sound_store_is_told_every_check_of_the_page(tmp_path: Path) -> None:
    """Also what is well: a check that is not printed was maybe not made."""
    _, _, section = (ROOT / "docs" / "cli.md").read_text().partition("\n### `holdfast doctor`\n")
    table, _, _ = section.partition("\n### ")
    listed = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    async with open_store(f"embedded://{tmp_path}"):
        _, found = await _doctor(tmp_path, "--deep")
    assert "data" in listed
    assert sorted(found) == sorted(listed)


async def test_a_lost_library_is_found_and_loaded_by_fix(tmp_path: Path) -> None:
    """Without --fix nothing is changed."""
    async with open_store(f"embedded://{tmp_path}") as store:
        await store.client.on_primaries(["FUNCTION", "DELETE", "holdfast"])
        code, found = await _doctor(tmp_path)
        assert (code, found["library"]["level"]) == (1, "error")
        assert await store.client.on_primaries(["FUNCTION", "LIST"]) in ([[]], [{}])
        code, found = await _doctor(tmp_path, "--fix")
    assert (code, found["library"]["level"]) == (0, "ok")


async def test_a_full_store_without_library_is_described_and_can_be_used(tmp_path: Path) -> None:
    """--fix says why it cannot be loaded and what to do; commands that free memory work."""

    def run(*args: str) -> tuple[int, str]:
        shown = holdfast(*args, "--store", f"embedded://{tmp_path}", folder=tmp_path)
        return shown.returncode, shown.stderr

    async with open_store(f"embedded://{tmp_path}") as store:
        submitted = await Engine(store).submit("work")
        await store.client.on_primaries(["CONFIG", "SET", "maxmemory", "1"])
        await store.client.on_primaries(["FUNCTION", "DELETE", "holdfast"])
        code, found = await _doctor(tmp_path, "--fix")
        assert (code, found["library"]["level"]) == (1, "error")
        assert "too full" in found["library"]["text"]
        assert "raise maxmemory" in found["library"]["fix"]
        code, told = await asyncio.to_thread(run, "submit", "work")
        assert (code, told.endswith("(store_full)\n")) == (1, True), told
        assert await asyncio.to_thread(run, "show", submitted.id) == (0, "")
        assert (await asyncio.to_thread(run, "cancel", submitted.id))[0] == 0
        await store.client.on_primaries(["CONFIG", "SET", "maxmemory", "0"])
        code, found = await _doctor(tmp_path, "--fix")
    assert (code, found["library"]["level"]) == (0, "ok")


async def test_overdue_timers_and_abandoned_lanes_are_warned_of(tmp_path: Path) -> None:
    """A store without any worker is sound, but nothing will move in it."""
    async with open_store(f"embedded://{tmp_path}") as store:
        engine = Engine(store)
        await engine.submit("work", lane="mail")
        await engine.submit("work", delay_ms=1)
        code, found = await _doctor(tmp_path)
    assert code == 0
    assert found["timers"]["level"] == "warning"
    assert "mail" in found["workers"]["text"]


async def test_tasks_that_no_worker_has_are_warned_of(tmp_path: Path) -> None:
    """Workers serve the lane, but none has the task."""
    async with open_store(f"embedded://{tmp_path}") as store:
        engine = Engine(store)
        await engine.workers.register("w1", worker="w", lanes=["default"], kinds=["order.place"])
        await engine.submit("order.place")
        _, found = await _doctor(tmp_path)
        assert found["workers"]["level"] == "ok"
        await engine.submit("order.plac")
        _, found = await _doctor(tmp_path)
        await engine.close()
    assert found["workers"]["level"] == "warning"
    assert "no worker has: order.plac on lane default" in found["workers"]["text"]


async def test_a_server_that_keeps_nothing_is_a_problem(single_server: TestServer) -> None:
    """The servers of tests have no append-only file, and another library than ours."""
    url = StoreUrl(addresses=(("127.0.0.1", single_server.port),))
    found = {f.check: f for f in await examine(url, Engine)}
    assert found["durability"].level is Level.ERROR
    assert "restart of the server loses" in found["durability"].text


async def _executions(engine: Engine) -> dict[str, str]:
    """Make one waiting, one active and one delayed execution; returns ids by state."""
    ids: dict[str, str] = {"active": (await engine.submit("work")).id}
    async with engine.claimer(worker="w1") as claimer:
        await claimer.claim(1, 30_000)
    ids["waiting"] = (await engine.submit("work")).id
    ids["delayed"] = (await engine.submit("work", delay_ms=1_000)).id
    return ids


async def test_the_deep_check_finds_what_verify_repairs(tmp_path: Path) -> None:
    """An execution that no claim would return: the doctor says so, `verify --fix` repairs it."""
    url = f"embedded://{tmp_path}"
    async with open_store(url) as store:
        engine = Engine(store)
        ids = await _executions(engine)
        queue = f"{store.tag_of(ids['waiting'])}:q:default|work||default"
        await store.client.call(["ZREM", queue, ids["waiting"]])
        code, found = await _doctor(tmp_path, "--deep")
        assert (code, found["drift"]["level"]) == (1, "error")
        for options, expected in (((), 1), (("--fix",), 0), ((), 0)):
            call = ("verify", "--store", url, "--json", *options)
            shown = await asyncio.to_thread(holdfast, *call, folder=tmp_path)
            assert shown.returncode == expected
        assert json.loads(shown.stdout)["drifts"] == []
        async with engine.claimer(worker="w1") as claimer:
            assert [claim.id for claim in await claimer.claim(1, 30_000)] == [ids["waiting"]]


async def test_the_oldest_waiting_execution_is_found(engine: Engine, clock: Clock) -> None:
    """However old it is and however many came after it."""
    assert await snapshot.oldest_waiting(engine) is None
    oldest = (await engine.submit("work")).id
    for age in (700, 30_000, 3_600_000, 86_400_000):
        await clock.advance(age)
        await engine.submit("work")
        found = await snapshot.oldest_waiting(engine)
        assert found is not None
        assert found.id == oldest


async def test_queues_and_the_archive_are_looked_at(tmp_path: Path) -> None:
    """Messages that are not accounted for, and an archive that cannot be read, are problems."""
    async with open_store(f"embedded://{tmp_path}") as store:
        engine = Engine(store)
        for mode in ("work", "fanout"):
            await engine.queues.define(mode, mode=mode)
            await engine.queues.push(mode, b"1")
        await set_archive(store, str(tmp_path / "archive"))
        code, found = await _doctor(tmp_path)
        assert (code, found["queues"]["text"]) == (0, "2, with 1 messages ready and 0 dead")
        assert found["archive"]["level"] == "ok"
        await store.client.call(["HINCRBY", f"{store.queue_tag('work')}:tally:", "pushed", "1"])
        objects = FolderObjects(tmp_path / "archive")
        await objects.put_if_absent(paths.manifest(KEY), b"damaged")
        code, found = await _doctor(tmp_path)
    assert (code, found["queues"]["level"], found["archive"]["level"]) == (
        1,
        "error",
        "error",
    )
    assert "work" in found["queues"]["text"]
