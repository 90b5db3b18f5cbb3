"""Workers, servers and clients of two versions on one store: an upgrade, then a way back.

The store is one server, or a cluster of three primaries.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import pickle
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from holdfast import errors
from holdfast.engine import Engine, open_engine
from holdfast.store.valkey import library
from holdfast.store.verify.checking import violations
from holdfast.testing.polling import wait_for
from holdfast.testing.servers import TestServer, start_cluster, start_server
from tests.chaos.seeded import attempts
from tests.chaos.seeded.clock import StoreClock
from tests.chaos.seeded.history import Ledger
from tests.support.dump import dump_keys
from tests.upgrade.clients import SETTINGS, queues
from tests.upgrade.fleet import Fleet, Member
from tests.upgrade.trees import PREVIOUS, ROOT, tree_of

pytestmark = pytest.mark.timeout(600)

#: How many calls are answered in each stage, at least; `HOLDFAST_UPGRADE=2000` for a long run.
CALLS = int(os.environ.get("HOLDFAST_UPGRADE", "30"))
OLD, NEW = "old", "new"
_OPEN = ("waiting", "delayed", "active", "rate_limited", "suspended", "blocked")

#: Refusals that calls deserve, such as the cancelling of what has ended.
_DESERVED = (errors.Conflict, errors.NotFound, errors.LeaseLost, errors.BudgetExceeded)
#: A route that is missing; content that one version reads otherwise than the other.
_UNDESERVED = {"not_found", "id_conflict", "idempotency_conflict"}
_OWN_DOING = {
    kind.code
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, _DESERVED)
} - _UNDESERVED


@pytest.fixture(params=["single", "cluster"])
def nodes(request: pytest.FixtureRequest) -> Iterator[list[TestServer]]:
    """The servers of the store."""
    if request.param == "cluster":
        with start_cluster() as running:
            yield running
    else:
        with start_server() as alone:
            yield [alone]


@pytest.fixture(scope="module")
def old_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tree_of(PREVIOUS, tmp_path_factory.mktemp("previous"))


@pytest.fixture
async def fleet(nodes: list[TestServer], old_tree: Path, tmp_path: Path) -> AsyncIterator[Fleet]:
    scheme = "valkey" if len(nodes) == 1 else "valkey-cluster"
    places = ",".join(f"127.0.0.1:{node.port}" for node in nodes)
    store = f"{scheme}://{places}?prefix=hf&partitions=4"
    with contextlib.ExitStack() as stack:
        yield Fleet(store, tmp_path, {OLD: old_tree, NEW: ROOT}, stack)


async def test_an_upgrade_and_the_way_back_lose_nothing(
    fleet: Fleet, nodes: list[TestServer]
) -> None:
    """All calls are answered while versions change, and all that was acknowledged is there."""
    old_host, old_url = await fleet.host(OLD, "old-host")
    old = await fleet.clients(OLD, "o")
    await old.ask("prepare")
    await old.ask("start", "near")
    await old.ask("start", old_url)
    await _answered(old)
    (before,) = _releases(nodes)

    # The first process of the new version replaces the library while calls run.
    new_host, new_url = await fleet.host(NEW, "new-host")
    assert before <= library.load().release
    assert _releases(nodes) == {library.load().release}
    new = await fleet.others(NEW, "n")
    await new.ask("start", "near")
    await new.ask("start", new_url)
    await old.ask("start", new_url)
    await _answered(old, new)

    await old.ask("stop", old_url)
    await old_host.drain()
    await _answered(old, new)

    # The way back: the old version uses the new library.
    old_host, old_url = await fleet.host(OLD, "old-host-again")
    await old.ask("start", old_url)
    await old.ask("stop", new_url)
    await new.ask("stop", new_url)
    await new_host.drain()
    await _answered(old, new)
    assert _releases(nodes) == {library.load().release}

    for clients, places in ((old, ("near", old_url)), (new, ("near",))):
        for place in places:
            await clients.ask("stop", place)
    async with open_engine(fleet.store, SETTINGS, maintenance=False) as engine:
        await _drain(engine, old, new)
    await old_host.drain()
    problems = await _problems(fleet, nodes, old, new)
    assert problems == [], "\n".join(problems)


async def _answered(*members: Member) -> None:
    """Wait until each has had this many calls answered since now."""
    for member in members:
        enough = CALLS + await member.ask("answered")

        async def made(member: Member = member, enough: int = enough) -> bool:
            return bool(await member.ask("answered") >= enough)

        await wait_for(made, timeout_s=120 + CALLS)


async def _drain(engine: Engine, *members: Member) -> None:
    """Let time pass until all work has ended."""
    clock = StoreClock(engine.store, queues())
    owed = [asyncio.ensure_future(member.ask("finish")) for member in members]
    step_ms = 500
    async with asyncio.timeout(300):
        while not all(one.done() for one in owed) or (left := await _left(engine)):
            # Time that runs faster than the heartbeats would take leases away for ever.
            if all(one.done() for one in owed) and not left["active"]:
                step_ms = min(2 * step_ms, 32_000)
                await clock.jump(step_ms)
            await clock.tick()
            await asyncio.sleep(0.05)
    await asyncio.gather(*owed)


async def _left(engine: Engine) -> Counter[str]:
    """Return how much work has not ended, by state."""
    left: Counter[str] = Counter()
    for one in await engine.count():
        if one.state in _OPEN and one.count:
            left[str(one.state)] += one.count
    return left


async def _problems(fleet: Fleet, nodes: list[TestServer], *members: Member) -> list[str]:
    """Return what is wrong with the store, the attempts, and the answers of clients."""
    dump = dump_keys(nodes, "hf")
    path = fleet.folder / "dump"
    path.write_bytes(pickle.dumps(dump))
    found = list(violations(dump))
    ledger = Ledger()
    ledger.gather(fleet.folder)
    replayed: set[str] = set()
    for member in members:
        report = await member.ask("report", str(path))
        found += report["problems"]
        found += [what for what in report["refusals"] if what.split(": ")[1] not in _OWN_DOING]
        replayed |= set(report["replayed"])
    return [*found, *attempts.judge(ledger, replayed)]


def _releases(nodes: list[TestServer]) -> set[int]:
    """Return the releases of the libraries that servers have loaded."""
    found = set()
    for node in nodes:
        with node.raw() as client:
            listed = client.execute_command("FUNCTION", "LIST", "LIBRARYNAME", library.NAME)
        found |= {int(release) for release in re.findall(r"hf_revision_(\d+)_", repr(listed))}
    return found
