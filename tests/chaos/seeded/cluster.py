"""A cluster of three primaries and three replicas, every port of it behind a link."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import valkey
from typing_extensions import override

from holdfast.store.valkey.cluster import SLOTS
from holdfast.testing.polling import wait_for
from tests.chaos.seeded.network import Link
from tests.chaos.seeded.topology import RAW_ERRORS, SETTLE_S, Server, Topology

PRIMARIES = 3
_NODE_TIMEOUT_MS = 2_000
_KEYS_AT_ONCE = 100
_OPTIONS = (
    *("--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1"),
    *("--cluster-node-timeout", str(_NODE_TIMEOUT_MS)),
    *("--cluster-allow-replica-migration", "no", "--cluster-replica-validity-factor", "0"),
)


class Cluster(Topology):
    """Three primaries with a replica each."""

    name = "cluster"
    ack = "replicas:1"
    partitions = 8

    @override
    async def start(self) -> None:
        """Start all servers and make a cluster of them."""
        #: The links before the ports on which servers talk to each other, by server.
        self.buses: dict[Server, Link] = {}
        for _ in range(2 * PRIMARIES):
            self._start_node()
        first, *others = self.servers
        for number, server in enumerate(self.servers[:PRIMARIES]):
            low, high = (SLOTS * n // PRIMARIES for n in (number, number + 1))
            server.command("CLUSTER", "ADDSLOTSRANGE", low, high - 1)
            server.command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        for server in others:
            place = (server.link.port, self.buses[server].port)
            first.command("CLUSTER", "MEET", "127.0.0.1", *place)
        await wait_for(lambda: asyncio.to_thread(self._is_known), timeout_s=SETTLE_S)
        for number, server in enumerate(self.servers[PRIMARIES:]):
            await self._join(server, self.servers[number])
        await self.settle()

    def _start_node(self) -> None:
        front, bus = (self.network.link(0, self.random) for _ in range(2))
        ports = ["--cluster-announce-port", str(front.port)]
        ports += ["--cluster-announce-bus-port", str(bus.port)]
        server = self._start(*_OPTIONS, *ports, link=front)
        bus.target = server.port + 10_000
        self.buses[server] = bus

    async def _join(self, replica: Server, primary: Server) -> None:
        name = primary.command("CLUSTER", "MYID")

        def joined() -> bool:
            try:
                replica.command("CLUSTER", "REPLICATE", name)
            except valkey.ResponseError:
                return False
            return True

        await wait_for(lambda: asyncio.to_thread(joined), timeout_s=SETTLE_S)

    def _is_known(self) -> bool:
        count = f"cluster_known_nodes:{len(self.servers)}".encode()
        return all(count in server.command("CLUSTER", "INFO") for server in self.servers)

    @override
    def _place(self, login: str) -> str:
        ports = (f"127.0.0.1:{server.link.port}" for server in self.servers)
        return f"valkey-cluster://{login}{','.join(ports)}"

    @override
    def primaries(self) -> list[Server]:
        return [server for server in self.servers if role_of(server) == b"master"]

    def pairs(self) -> list[tuple[Server, Server]]:
        """Return the primaries with their replicas, as far as the servers answer."""
        by_link = {server.link.port: server for server in self.servers}
        found = []
        for replica in self.servers:
            role = _role(replica)
            if role and role[0] == b"slave" and role[2] in by_link:
                found.append((by_link[role[2]], replica))
        return found

    @override
    async def _settle(self) -> None:
        await wait_for(lambda: asyncio.to_thread(self._is_whole), timeout_s=SETTLE_S)

    def _is_whole(self) -> bool:
        try:
            views = {_owners(server) for server in self.servers}
            infos = [server.command("CLUSTER", "INFO") for server in self.servers]
            roles = [server.command("ROLE") for server in self.servers]
        except RAW_ERRORS:
            return False
        replicas = [role for role in roles if role[0] == b"slave"]
        return (
            len(views) == 1
            and all(b"cluster_state:ok" in info for info in infos)
            and len(replicas) == PRIMARIES
            and all(role[3] == b"connected" for role in replicas)
        )

    def isolate(self, server: Server, others: list[Server], is_cut: bool) -> None:
        """Cut a server off from others, or let it back; clients reach it."""
        for other in others:
            for one, two in ((server, other), (other, server)):
                for link in (one.link, self.buses[one]):
                    link.path(two.name).is_cut = is_cut
                    self.network.call(link.lose_all, two.name)

    def migrate(self, slot: int, source: Server, target: Server) -> None:
        """Move a slot to another primary; raises if servers do not answer."""
        here, there = (server.command("CLUSTER", "MYID") for server in (source, target))
        target.command("CLUSTER", "SETSLOT", slot, "IMPORTING", here)
        source.command("CLUSTER", "SETSLOT", slot, "MIGRATING", there)
        while keys := source.command("CLUSTER", "GETKEYSINSLOT", slot, _KEYS_AT_ONCE):
            place = ("127.0.0.1", target.port, "", 0, 5_000)
            source.command("MIGRATE", *place, "REPLACE", "KEYS", *keys)
        with target.raw() as client:
            # What moved is acknowledged already: it must be on the other replica, too.
            client.execute_command("CLUSTER", "SETSLOT", slot, "NODE", there)
            client.execute_command("WAIT", 1, 5_000)
        source.command("CLUSTER", "SETSLOT", slot, "NODE", there)
        for server in self.primaries():
            with contextlib.suppress(*RAW_ERRORS):
                server.command("CLUSTER", "SETSLOT", slot, "NODE", there)

    def owner_of(self, slot: int) -> Server | None:
        """Return the primary that has a slot."""
        by_link = {server.link.port: server for server in self.servers}
        for first, last, (_, port, *_), *_ in self.servers[0].command("CLUSTER", "SLOTS"):
            if first <= slot <= last:
                return by_link.get(port)
        return None


def _role(server: Server) -> Any:
    try:
        return server.command("ROLE") if server.is_alive and not server.is_stopped else None
    except RAW_ERRORS:
        return None


def role_of(server: Server) -> bytes:
    """Return whether a server is `master` or `slave`; nothing if it does not answer."""
    role = _role(server)
    return role[0] if role else b""


def _owners(server: Server) -> tuple[Any, ...]:
    """Return which port has which slots, as a server sees it."""
    ranges = server.command("CLUSTER", "SLOTS")
    return tuple(sorted((first, last, node[1]) for first, last, node, *_ in ranges))
