"""Where the store runs: one server, a server with its replica, or a cluster of three and three.

All clients go through links, so that the network between them and the servers can fail. Servers
outlive a seed: `settle` mends what faults broke, `empty` forgets the data.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import valkey
from typing_extensions import override

from holdfast.testing.polling import wait_for
from holdfast.testing.servers import TestServer, start_server
from tests.chaos.seeded.network import Link, Network, open_network
from tests.support.killing import restart

T = TypeVar("T", bound="Topology")

PREFIX = "hf"
#: The user of the harness itself, whose traffic takes no link.
_PASSWORD = "chaos"  # noqa: S105 - the servers listen on loopback only
RAW_ERRORS = (valkey.ValkeyError, OSError)
SETTLE_S = 120
#: The size of a disk that faults fill.
DISK = "200m"
_FAILING_SYNC = Path(__file__).with_name("failing_sync.c")
#: How many processes a seed can have, one after the other.
USERS = 40


def _users() -> Iterator[str]:
    """Return the options of a server that let clients log in."""
    for name in ("harness", *(f"p{number}" for number in range(USERS))):
        yield from ("--user", name, "on", f">{_PASSWORD}", "~*", "&*", "+@all")


class Server:
    """A Valkey server that can be killed, stopped and started again, with its link."""

    def __init__(self, number: int, running: TestServer, folder: Path, link: Link) -> None:
        self.number = number
        self.name = f"server{number}"
        self._running = running
        self._folder = folder
        self.link = link
        self.is_stopped = False
        #: What it is started with again.
        self.environment: dict[str, str] = {}

    @property
    def port(self) -> int:
        """Its port."""
        return self._running.port

    @property
    def pid(self) -> int:
        """Its process."""
        return self._running.process.pid

    @property
    def log(self) -> Path:
        """Its log."""
        return self._folder.with_suffix(".log")

    @property
    def is_alive(self) -> bool:
        """Whether its process runs, if perhaps stopped."""
        return self._running.process.poll() is None

    def raw(self) -> valkey.Valkey:
        """Return a plain client that takes no link."""
        return valkey.Valkey(port=self.port, socket_timeout=5)

    def command(self, *words: str | bytes | int) -> Any:
        """Send a command; raises if the server does not answer."""
        with self.raw() as client:
            return client.execute_command(*words)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to its process."""
        if self.is_alive:
            self._running.process.send_signal(number)
            self.is_stopped = number is signal.SIGSTOP

    def kill(self) -> None:
        """End it without warning."""
        self._running.process.kill()
        self._running.process.wait()
        self.is_stopped = False

    def start(self) -> None:
        """Start it again, with its files."""
        if not self.is_alive:
            self._running = restart(self._running, self._folder, self.environment)

    def end(self) -> None:
        """End it for good."""
        self._running.process.kill()
        self._running.process.wait()

    async def wait_ready(self) -> None:
        """Wait until it answers and has loaded its data."""
        await wait_for(lambda: asyncio.to_thread(self._answers), timeout_s=SETTLE_S)

    def _answers(self) -> bool:
        try:
            return bool(self.command("PING"))
        except RAW_ERRORS:
            return False


class Topology(ABC):
    """The servers of a store."""

    name: str
    #: What an acknowledgement means here, as an option of the store URL.
    ack: str = ""
    partitions = 4

    def __init__(self, network: Network, folder: Path, random: Random) -> None:
        self.network = network
        self.random = random
        self._folder = folder
        self._stack = contextlib.ExitStack()
        self.servers: list[Server] = []
        #: Held while servers change their roles: one change at a time.
        self.changing = asyncio.Lock()

    def _start(self, *options: str, link: Link | None = None) -> Server:
        number = len(self.servers)
        folder = self._folder / f"server{number}"
        folder.mkdir(exist_ok=True)
        link = link or self.network.link(0, self.random)
        own = ["--bind-source-addr", f"127.0.7.{number}"]
        # Not on the disk that a fault fills.
        own += ["--logfile", str(folder.with_suffix(".log"))]
        running = start_server(*own, *options, *_users(), folder=folder)
        server = Server(number, self._stack.enter_context(running), folder, link)
        link.target = server.port
        # A server that was started again is not known to the stack.
        self._stack.callback(server.end)
        self.servers.append(server)
        return server

    def close(self) -> None:
        """End all servers."""
        self._stack.close()

    def url(self, user: str) -> str:
        """Return the store URL of a client."""
        options = f"?partitions={self.partitions}&prefix={PREFIX}" + (
            self.ack and f"&ack={self.ack}"
        )
        return self._place(f"{user}:{_PASSWORD}@") + options

    @abstractmethod
    async def start(self) -> None:
        """Start the servers."""

    @abstractmethod
    def _place(self, login: str) -> str:
        """Return the beginning of the store URL."""

    def links(self) -> list[Link]:
        """Return the links that clients use."""
        return [server.link for server in self.servers]

    @cached_property
    def http(self) -> Link:
        """The link before the server of the HTTP API."""
        return self.network.link(0, self.random)

    def cut_off(self, user: str) -> None:
        """Keep a client from the store for good."""
        for link in self.links():
            link.path(user).is_cut = True
            self.network.call(link.lose_all, user)

    @abstractmethod
    def primaries(self) -> list[Server]:
        """Return the servers that have the data."""

    async def settle(self) -> None:
        """Mend everything: network, processes, settings, replication."""
        self.network.heal()
        for server in self.servers:
            server.signal(signal.SIGCONT)
            await asyncio.to_thread(server.start)
        for server in self.servers:
            await server.wait_ready()
            with server.raw() as client:
                client.config_set("maxmemory", "0")
        await self._settle()

    @abstractmethod
    async def _settle(self) -> None:
        """Mend what is special about this topology."""

    async def empty(self) -> None:
        """Forget all data, and the clients."""
        await self.settle()
        for server in self.primaries():
            await asyncio.to_thread(server.command, "FLUSHALL", "SYNC")
            await asyncio.to_thread(server.command, "FUNCTION", "FLUSH", "SYNC")


class Single(Topology):
    """One server that syncs every write before it answers."""

    name = "single"

    @property
    def disk(self) -> Path:
        """The folder with its data."""
        return self._folder / "server0"

    @property
    def sync_flag(self) -> Path:
        """The file that makes its disk fail to sync, if a library for that could be built."""
        return self._folder / "failing-sync"

    def fill_disk(self) -> None:
        """Leave no room on its disk, if it has one of its own; the server then ends."""
        if self.disk.is_mount():
            with contextlib.suppress(OSError), (self.disk / "ballast").open("wb") as file:
                while True:
                    file.write(bytes(1 << 20))
                    file.flush()

    def free_disk(self) -> None:
        """Make room again."""
        (self.disk / "ballast").unlink(missing_ok=True)

    @override
    async def start(self) -> None:
        """Start the server, on a small disk if this process may mount one."""
        self.disk.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(self.disk)]
        if subprocess.run(mount, capture_output=True, check=False).returncode == 0:  # noqa: ASYNC221
            unmount = ["umount", "-l", str(self.disk)]
            self._stack.callback(subprocess.run, unmount, check=False)
        server = self._start("--appendonly", "yes", "--appendfsync", "always")
        library = self._folder / "failing_sync.so"
        build = ["cc", "-shared", "-fPIC", "-o", str(library), str(_FAILING_SYNC), "-ldl"]
        with contextlib.suppress(FileNotFoundError):
            subprocess.run(build, capture_output=True, check=False)  # noqa: ASYNC221
        if library.exists():
            server.environment["LD_PRELOAD"] = str(library)
            server.environment["HOLDFAST_FAILING_SYNC"] = str(self.sync_flag)
            server.kill()
            server.start()
            await server.wait_ready()

    @override
    def _place(self, login: str) -> str:
        return f"valkey://{login}127.0.0.1:{self.servers[0].link.port}"

    @override
    def primaries(self) -> list[Server]:
        return self.servers

    @override
    async def _settle(self) -> None:
        """Nothing is special."""

    @override
    async def settle(self) -> None:
        await asyncio.to_thread(self.free_disk)
        self.sync_flag.unlink(missing_ok=True)
        await super().settle()

    @override
    async def empty(self) -> None:
        await super().empty()
        # The log of the seeds before would fill the disk by and by.
        with contextlib.suppress(valkey.ResponseError):
            await asyncio.to_thread(self.servers[0].command, "BGREWRITEAOF")


def follow(replica: Server, port: int) -> None:
    """Let a server follow the one behind a port."""
    replica.command("REPLICAOF", "127.0.0.1", port)


def is_linked(replica: Server) -> bool:
    """Return whether a replica has the data of its primary and follows it."""
    try:
        role = replica.command("ROLE")
    except RAW_ERRORS:
        return False
    return bool(role[0] == b"slave" and role[3] == b"connected")


class Pair(Topology):
    """A primary, and a replica that a fault promotes; clients find the primary behind one link."""

    name = "pair"
    ack = "replicas:1"

    @override
    async def start(self) -> None:
        """Start both."""
        self.primary, self.replica = self._start(), self._start()
        self.front = self.network.link(self.primary.port, self.random)
        await self.settle()

    @override
    def _place(self, login: str) -> str:
        return f"valkey://{login}127.0.0.1:{self.front.port}"

    @override
    def links(self) -> list[Link]:
        return [self.front]

    @override
    def primaries(self) -> list[Server]:
        return [self.primary]

    def promote(self) -> None:
        """Make the replica the primary; the other one waits for `settle`, dead or alive."""
        self.replica.signal(signal.SIGCONT)
        self.replica.command("REPLICAOF", "NO", "ONE")
        self.primary, self.replica = self.replica, self.primary
        self.front.target = self.primary.port
        self.network.call(self.front.lose_all)

    @override
    async def _settle(self) -> None:
        await asyncio.to_thread(follow, self.replica, self.primary.link.port)
        await wait_for(lambda: asyncio.to_thread(is_linked, self.replica), timeout_s=SETTLE_S)


@contextlib.contextmanager
def open_folder() -> Iterator[Path]:
    """Keep the files of servers in memory, if the system can."""
    memory = Path("/dev/shm")  # noqa: S108 - a folder of its own is made in it
    with tempfile.TemporaryDirectory(
        prefix="holdfast-chaos-", dir=memory if memory.is_dir() else None
    ) as folder:
        yield Path(folder)


@contextlib.asynccontextmanager
async def open_topology(kind: type[T], random: Random) -> AsyncIterator[T]:
    """Run the servers of a topology for as long as the block runs."""
    with open_folder() as folder, open_network() as network:
        topology = kind(network, folder, random)
        try:
            await topology.start()
            yield topology
        finally:
            topology.close()
