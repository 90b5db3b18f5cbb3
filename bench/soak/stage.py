"""The processes of a soak: a Valkey server, servers of the HTTP API, and workers.

One server and one worker are never killed, so that a leak has the time to show.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import valkey

from holdfast.store.valkey.ports import free_port
from holdfast.testing.polling import wait_for
from holdfast.testing.servers import TestServer, start_server
from tests.support.killing import restart

STEADY = ("server 1", "worker 1")
MORTAL = ("server 2", "worker 2")
WORKERS = 2
SLOTS = 50
LEASE_MS = 3_000
#: Small, so that the file is rewritten often: its size is then that of the data.
_REWRITE = "16mb"


@dataclass
class Stage:
    """Running processes by name."""

    folder: Path
    log: IO[bytes]
    valkey: TestServer
    ports: dict[str, int]
    processes: dict[str, subprocess.Popen[bytes]]

    @property
    def store(self) -> str:
        """The URL of the store."""
        return f"valkey://127.0.0.1:{self.valkey.port}"

    @property
    def urls(self) -> list[str]:
        """The URLs of the servers."""
        return [f"http://127.0.0.1:{port}" for port in self.ports.values()]

    def start(self, name: str) -> None:
        """Start a process."""
        options = ["--store", self.store, "--log-level", "warning"]
        if name in self.ports:
            listen = f"127.0.0.1:{self.ports[name]}"
            command = ["server", "--listen", listen, "--rate", "0", *options]
        else:
            command = ["worker", "bench.soak.app:app", "--slots", str(SLOTS), *options]
            command += ["--lease", f"{LEASE_MS}ms", "--keep-logs", "off"]
        self.processes[name] = subprocess.Popen(
            [sys.executable, "-m", "holdfast.cli", *command], stdout=self.log, stderr=self.log
        )

    def send(self, name: str, number: signal.Signals) -> None:
        """Send a signal to a process."""
        self.processes[name].send_signal(number)

    def kill(self, name: str) -> None:
        """End a process without warning, and start it again."""
        self.processes[name].kill()
        self.processes[name].wait()
        self.start(name)

    async def restart_valkey(self) -> None:
        """End the store's server without warning, and start it again."""
        self.valkey.process.kill()
        self.valkey.process.wait()
        self.valkey = await asyncio.to_thread(restart, self.valkey, self.folder)
        await self.ready()

    async def ready(self) -> None:
        """Wait until the store's server has loaded its data."""

        async def answers() -> bool:
            with contextlib.suppress(valkey.ValkeyError), self.valkey.raw() as client:
                return bool(client.ping())
            return False

        await wait_for(answers, timeout_s=120)

    def ended(self) -> list[str]:
        """Return the processes that ended by themselves."""
        return [
            f"{name} ended with {process.returncode}"
            for name, process in self.processes.items()
            if process.poll() is not None
        ]

    def verify(self) -> str:
        """Return what is wrong with the store, or nothing."""
        command = [sys.executable, "-m", "holdfast.cli", "verify", "--json", "--store", self.store]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode == 0 and json.loads(done.stdout)["sound"]:
            return ""
        return (done.stdout + done.stderr).decode()

    def close(self) -> None:
        """End everything."""
        for process in self.processes.values():
            process.kill()
            process.wait()
        self.valkey.process.kill()
        self.valkey.process.wait()


@contextlib.asynccontextmanager
async def open_stage(folder: Path) -> AsyncIterator[Stage]:
    """Run all processes, with a store that syncs every write."""
    options = ["--appendonly", "yes", "--appendfsync", "always"]
    options += ["--auto-aof-rewrite-min-size", _REWRITE]
    ports = {name: free_port() for name in (STEADY[0], MORTAL[0])}
    with start_server(*options, folder=folder) as server, (folder / "log").open("ab") as log:
        stage = Stage(folder, log, server, ports, {})
        try:
            for name in (*STEADY, *MORTAL):
                stage.start(name)
            yield stage
        finally:
            stage.close()
