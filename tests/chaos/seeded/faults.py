"""Faults: each strikes a world, lasts a while, and mends what it can.

What it leaves broken, `Topology.settle` mends at the end of the seed.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Coroutine
from typing import Any

from holdfast.store.valkey import library
from holdfast.store.valkey.cluster import slot_of
from holdfast.testing.polling import wait_for
from tests.chaos.seeded.cluster import Cluster, role_of
from tests.chaos.seeded.network import Link, Moment
from tests.chaos.seeded.processes import Kind
from tests.chaos.seeded.topology import RAW_ERRORS, Pair, Server, Single
from tests.chaos.seeded.world import World

Fault = Callable[[World], Coroutine[Any, Any, None]]

#: Faults by topology and name, and how often each comes.
FAULTS: dict[str, dict[str, tuple[Fault, int]]] = {"single": {}, "pair": {}, "cluster": {}}
#: The kind of process that a fault needs, for those that are not part of every seed.
NEEDS: dict[str, Kind] = {}
_EVERYWHERE = ("single", "pair", "cluster")


def fault(*topologies: str, weight: int = 1, needs: Kind | None = None) -> Callable[[Fault], Fault]:
    """Declare a fault, for all topologies or for some; perhaps one that needs such a process."""

    def declared(function: Fault) -> Fault:
        for topology in topologies or _EVERYWHERE:
            name = function.__name__.replace("_", "-")
            FAULTS[topology][name] = (function, weight)
            if needs is not None:
                NEEDS[name] = needs
        return function

    return declared


# Processes


@fault(weight=2)
async def kill_worker(world: World) -> None:
    """A worker dies."""
    world.kill(world.pick(Kind.WORKER))


@fault()
async def kill_client(world: World) -> None:
    """A client dies in the middle of its calls."""
    world.kill(world.pick(Kind.CLIENT))


@fault(weight=2)
async def pause_worker(world: World) -> None:
    """A worker stands still, often for longer than its leases."""
    await _pause(world, Kind.WORKER)


@fault()
async def pause_client(world: World) -> None:
    """A client stands still."""
    await _pause(world, Kind.CLIENT)


@fault(needs=Kind.SERVER)
async def kill_http_server(world: World) -> None:
    """A server of the HTTP API dies; another one listens on its port."""
    world.kill(world.pick(Kind.SERVER))


@fault(needs=Kind.SERVER)
async def pause_http_server(world: World) -> None:
    """A server of the HTTP API stands still."""
    await _pause(world, Kind.SERVER)


@fault(weight=2, needs=Kind.HOST)
async def kill_host(world: World) -> None:
    """A host of packs dies."""
    world.kill(world.pick(Kind.HOST))


@fault(weight=2, needs=Kind.HOST)
async def pause_host(world: World) -> None:
    """A host of packs stands still, often for longer than its leases."""
    await _pause(world, Kind.HOST)


async def _pause(world: World, kind: Kind) -> None:
    process = world.pick(kind)
    process.pause(True)
    await world.wait(0.2, 1.6)
    process.pause(False)


# Network


@fault(weight=5)
async def lose_connection(world: World) -> None:
    """A connection is lost at one moment or other; or a request arrives twice."""
    users = tuple(process.user for process in world.processes)
    for _ in range(world.random.randint(1, 6)):
        moment = world.random.choice(list(Moment))
        link = world.random.choice(world.topology.links())
        world.note(f"{moment.value} at {link.target}")
        world.topology.network.call(link.lose, moment, users)
        await world.wait(0.0, 0.05)


@fault(needs=Kind.SERVER)
async def lose_http_connection(world: World) -> None:
    """A connection between a client and a server of the HTTP API is lost."""
    for _ in range(world.random.randint(1, 6)):
        moment = world.random.choice(list(Moment))
        world.note(moment.value)
        world.topology.network.call(world.topology.http.lose, moment)
        await world.wait(0.0, 0.1)


@fault(needs=Kind.SERVER)
async def slow_http(world: World) -> None:
    """Calls of the HTTP API take longer, or stand still; then all arrive."""
    path = world.topology.http.path("")
    path.delay_s = world.random.uniform(0.005, 0.2)
    path.holds_replies = world.random.random() < 0.5
    await world.wait(0.2, 0.8)
    path.heal()


def _some_path(world: World) -> tuple[Link, str]:
    process = world.random.choice(world.processes)
    link = world.random.choice(world.topology.links())
    world.note(f"between {process.user} and {link.target}")
    return link, process.user


@fault()
async def slow_network(world: World) -> None:
    """All traffic of a process with a server takes longer."""
    link, user = _some_path(world)
    link.path(user).delay_s = world.random.uniform(0.005, 0.2)
    await world.wait(0.2, 0.8)
    link.path(user).delay_s = 0.0


@fault()
async def half_open(world: World) -> None:
    """Requests arrive and replies do not, or neither; then all arrive late."""
    link, user = _some_path(world)
    path = link.path(user)
    path.holds_replies = True
    path.holds_requests = world.random.random() < 0.5
    await world.wait(0.2, 1.0)
    path.holds_replies = path.holds_requests = False


@fault()
async def partition(world: World) -> None:
    """A process cannot reach a server."""
    link, user = _some_path(world)
    path = link.path(user)
    path.is_cut = True
    world.topology.network.call(link.lose_all, user)
    await world.wait(0.2, 1.0)
    path.is_cut = user in {process.user for process in world.dead}


# The store


def _primary(world: World) -> Server:
    return world.random.choice(world.topology.primaries())


@fault("single", weight=2)
async def kill_server(world: World) -> None:
    """The server dies and comes back with what is on its disk."""
    server = _primary(world)
    await asyncio.to_thread(server.kill)
    await world.wait(0.0, 0.4)
    await asyncio.to_thread(server.start)


@fault("single")
async def full_disk(world: World) -> None:
    """The disk of the server is full: it cannot sync, so it ends, until there is room again."""
    topology = world.topology
    assert isinstance(topology, Single)
    await asyncio.to_thread(topology.fill_disk)
    await world.wait(0.1, 0.6)
    await asyncio.to_thread(topology.free_disk)
    await asyncio.to_thread(topology.servers[0].start)


@fault("single")
async def failing_sync(world: World) -> None:
    """The disk of the server cannot sync: it acknowledges nothing, and ends."""
    topology = world.topology
    assert isinstance(topology, Single)
    server = topology.servers[0]
    if server.environment:
        topology.sync_flag.touch()
        await world.wait(0.1, 0.6)
        topology.sync_flag.unlink(missing_ok=True)
        world.note(f"the server {'lives' if server.is_alive else 'has ended'}")
        await asyncio.to_thread(server.start)


@fault(weight=1)
async def stop_server(world: World) -> None:
    """A server stands still."""
    server = world.random.choice(world.topology.servers)
    world.note(f"{server.name} at {server.port}")
    server.signal(signal.SIGSTOP)
    await world.wait(0.1, 0.9)
    server.signal(signal.SIGCONT)


@fault()
async def flush_functions(world: World) -> None:
    """The servers lose the library."""
    for server in world.topology.primaries():
        await _command(server, "FUNCTION", "FLUSH")


@fault()
async def other_library(world: World) -> None:
    """A process of an older or a newer version loads its library."""
    mine = library.load(fake_clock=True)
    # One of another format would be refused by every process that starts.
    release = mine.release + world.random.choice([-1, 1])
    world.note(f"release {release}")
    other = mine.code.replace(mine.marker, f"hf_revision_{release}_{'0' * len(mine.digest)}")
    for server in world.topology.primaries():
        await _command(server, "FUNCTION", "LOAD", "REPLACE", other)


@fault()
async def full_memory(world: World) -> None:
    """The servers reach maxmemory."""
    servers = world.topology.primaries()
    for server in servers:
        await _command(server, "CONFIG", "SET", "maxmemory", "1mb")
    await world.wait(0.1, 0.6)
    for server in servers:
        await _command(server, "CONFIG", "SET", "maxmemory", "0")


async def _command(server: Server, *words: str) -> None:
    with contextlib.suppress(*RAW_ERRORS):
        await asyncio.to_thread(server.command, *words)


@fault(weight=2)
async def jump_clock(world: World) -> None:
    """The clock of the servers jumps, forward or back."""
    ms = world.random.choice([50, 1_100, 5_000, 120_000, 600_000])
    ms *= world.random.choice([-1, 1])
    world.note(f"by {ms} ms")
    await world.clock.jump(ms)


@fault("cluster")
async def skew_clock(world: World) -> None:
    """The clock of one server jumps, forward or back, and those of the others do not."""
    topology = world.topology
    assert isinstance(topology, Cluster)
    ms = world.random.choice([1_100, 5_000, 120_000]) * world.random.choice([-1, 1])
    server = _primary(world)
    owners = {
        place: await asyncio.to_thread(topology.owner_of, slot_of(place))
        for place in world.clock.places
    }
    own = [place for place, owner in owners.items() if owner is server]
    world.note(f"by {ms} ms on {server.name}: {own}")
    await world.clock.jump(ms, own)


# Changes of roles


@fault("pair", weight=3)
async def promote(world: World) -> None:
    """The primary dies, stands still or is cut off, and its replica takes over."""
    topology = world.topology
    assert isinstance(topology, Pair)
    async with topology.changing:
        old, new = topology.primary, topology.replica
        if world.random.random() < 0.5:
            # The replica lags behind: what it lacks nobody may have acknowledged.
            old.link.path(new.name).holds_replies = True
            await world.wait(0.01, 0.3)
        await _strike_down(world, old)
        await world.wait(0.0, 0.2)
        await asyncio.to_thread(topology.promote)
        await world.wait(0.0, 0.3)
        await topology.settle()


async def _strike_down(world: World, server: Server) -> None:
    how = world.random.choice(["killed", "stopped", "alive"])
    world.note(f"{server.name} at {server.port} is {how}")
    if how == "killed":
        await asyncio.to_thread(server.kill)
    elif how == "stopped":
        server.signal(signal.SIGSTOP)


@fault("pair", "cluster")
async def lag(world: World) -> None:
    """A replica receives nothing for a while."""
    primary, replica = world.random.choice(await _pairs(world))
    world.note(f"from {primary.name} to {replica.name}")
    path = primary.link.path(replica.name)
    path.holds_replies = True
    await world.wait(0.1, 0.8)
    path.holds_replies = False


@fault("pair", "cluster")
async def cut_replication(world: World) -> None:
    """A replica loses its primary and cannot reach it for a while."""
    primary, replica = world.random.choice(await _pairs(world))
    world.note(f"between {primary.name} and {replica.name}")
    path = primary.link.path(replica.name)
    path.is_cut = True
    world.topology.network.call(primary.link.lose_all, replica.name)
    await world.wait(0.1, 1.2)
    path.is_cut = False


@fault("pair", "cluster")
async def kill_replica(world: World) -> None:
    """A replica dies and comes back empty: until then nothing can be acknowledged."""
    topology = world.topology
    async with topology.changing:
        _, replica = world.random.choice(await _pairs(world))
        world.note(f"{replica.name} at {replica.port}")
        await asyncio.to_thread(replica.kill)
        await world.wait(0.0, 0.6)
        await topology.settle()


async def _pairs(world: World) -> list[tuple[Server, Server]]:
    topology = world.topology
    if isinstance(topology, Cluster):
        return await asyncio.to_thread(topology.pairs) or [
            (topology.servers[0], topology.servers[1])
        ]
    assert isinstance(topology, Pair)
    return [(topology.primary, topology.replica)]


@fault("cluster", weight=3)
async def fail_over(world: World) -> None:
    """A primary dies, stands still or lives on, and its replica takes over, in one way or other."""
    topology = world.topology
    assert isinstance(topology, Cluster)
    async with topology.changing:
        primary, replica = world.random.choice(await _pairs(world))
        await _strike_down(world, primary)
        how = world.random.choice([(), ("FORCE",), ("TAKEOVER",), None])
        world.note(f"{replica.name} takes over: {how}")
        if how is not None:
            await world.wait(0.0, 0.2)
            await _command(replica, "CLUSTER", "FAILOVER", *how)
        await world.wait(0.2, 0.5)
        if not primary.is_alive:
            # It has no data any more: nobody may take it for a primary.
            await _insist_on_takeover(replica)
        await topology.settle()


async def _insist_on_takeover(replica: Server) -> None:
    async def has_taken_over() -> bool:
        replica.signal(signal.SIGCONT)
        await _command(replica, "CLUSTER", "FAILOVER", "TAKEOVER")
        return await asyncio.to_thread(role_of, replica) == b"master"

    await wait_for(has_taken_over, timeout_s=30)


@fault("cluster", weight=2)
async def isolate_server(world: World) -> None:
    """A server cannot talk to some or all others, long enough that they may replace it."""
    topology = world.topology
    assert isinstance(topology, Cluster)
    async with topology.changing:
        server = world.random.choice(topology.servers)
        others = [one for one in topology.servers if one is not server]
        others = world.random.sample(others, k=world.random.choice([1, 2, 5, 5, 5]))
        world.note(f"{server.name} at {server.port} from {[one.name for one in others]}")
        topology.isolate(server, others, True)
        await world.wait(0.3, 3.0)
        topology.isolate(server, others, False)
        await topology.settle()


@fault("cluster", weight=2)
async def migrate_slot(world: World) -> None:
    """A slot in use moves to another primary."""
    topology = world.topology
    assert isinstance(topology, Cluster)
    async with topology.changing:
        slot = slot_of(world.random.choice(world.clock.places))
        await topology.settle()
        source = await asyncio.to_thread(topology.owner_of, slot)
        others = [one for one in await asyncio.to_thread(topology.primaries) if one is not source]
        if source is not None and others:
            target = world.random.choice(others)
            world.note(f"slot {slot} from {source.name} to {target.name}")
            await _insist(lambda: topology.migrate(slot, source, target))
        await topology.settle()


async def _insist(act: Callable[[], None]) -> None:
    async def works() -> bool:
        try:
            await asyncio.to_thread(act)
        except RAW_ERRORS:
            return False
        return True

    await wait_for(works, timeout_s=30)
