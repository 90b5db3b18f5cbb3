"""Runs `holdfast` in processes of their own that need not import the package first."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

#: Where Python looks for modules before all others.
_SOURCE = "PYTHONPATH"
_FORKING = Path(__file__).with_name("forking.py")


class Command:
    """A command that was started, with the methods of a `Popen` that tests use."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lines = connection.makefile("rb")
        self.pid = int(self._lines.readline())
        self.returncode: int | None = None
        self._lock = threading.Lock()

    def poll(self) -> int | None:
        """Return the exit code, None while the command runs."""
        self.look(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the exit code."""
        self.look(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("holdfast", timeout or 0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the command has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """End the command."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the command without warning."""
        self.send_signal(signal.SIGKILL)

    def _has_news(self, timeout: float | None) -> bool:
        # Unlike `select`, it takes descriptors above 1024: `make chaos` has many connections.
        poll = select.poll()
        poll.register(self._connection, select.POLLIN)
        return bool(poll.poll(None if timeout is None else timeout * 1000))

    def look(self, timeout: float | None) -> None:
        """Wait until the command has ended, or for a while."""
        with self._lock:
            if self.returncode is None and self._has_news(timeout):
                self.returncode = int(self._lines.readline())
                self._lines.close()
                self._connection.close()


def start(
    args: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    stdout: IO[Any],
    stderr: IO[Any],
    stdin: IO[Any] | None = None,
    module: str = "",
) -> Command:
    """Start `holdfast`, or a module."""
    request = {
        "args": list(args),
        "folder": str(folder),
        "environment": dict(environment),
        "module": module,
    }
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(_address())
    message = json.dumps(request).encode() + b"\n"
    with contextlib.ExitStack() as stack:
        given = stdin or stack.enter_context(Path(os.devnull).open("rb"))
        streams = [stream.fileno() for stream in (given, stdout, stderr)]
        sent = socket.send_fds(connection, [message], streams)
    connection.sendall(message[sent:])
    return Command(connection)


class Talking:
    """A command whose output is read while it runs, like a process of asyncio."""

    def __init__(
        self, command: Command | subprocess.Popen[bytes], stdout: asyncio.StreamReader
    ) -> None:
        self._command = command
        self.pid = command.pid
        self.stdout = stdout

    @property
    def returncode(self) -> int | None:
        """The exit code, None while the command runs."""
        return self._command.poll()

    async def wait(self) -> int:
        """Wait for the exit code."""
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return await asyncio.to_thread(self._command.wait, 0.5)

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the command has ended."""
        self._command.send_signal(number)

    def terminate(self) -> None:
        """End the command."""
        self._command.terminate()

    def kill(self) -> None:
        """End the command without warning."""
        self._command.kill()


async def talk(
    args: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    stderr: IO[Any],
    module: str = "",
) -> Talking:
    """Start `holdfast`, or a module, and read what it writes."""
    receiver, sender = os.pipe()
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(receiver, "rb")
    )
    is_own = environment.get(_SOURCE) == os.environ.get(_SOURCE)
    starting: Callable[..., Command | subprocess.Popen[bytes]] = start if is_own else _start_fresh
    with os.fdopen(sender, "wb") as stdout:
        command = await asyncio.to_thread(
            starting,
            args,
            folder=folder,
            environment=environment,
            stdout=stdout,
            stderr=stderr,
            module=module,
        )
    return Talking(command, reader)


def _start_fresh(
    args: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    stdout: IO[Any],
    stderr: IO[Any],
    module: str = "",
) -> subprocess.Popen[bytes]:
    """Start a process that imports other modules than this one."""
    return subprocess.Popen(
        [sys.executable, "-m", module or "holdfast.cli", *args],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
    )


def run(
    args: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    typed: str = "",
    timeout_s: float,
) -> subprocess.CompletedProcess[str]:
    """Run `holdfast` to its end."""
    with (
        tempfile.TemporaryFile() as stdin,
        tempfile.TemporaryFile() as stdout,
        tempfile.TemporaryFile() as stderr,
    ):
        stdin.write(typed.encode())
        stdin.seek(0)
        command = start(
            args,
            folder=folder,
            environment=environment,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
        )
        try:
            code = command.wait(timeout_s)
        except subprocess.TimeoutExpired:
            command.kill()
            command.wait()
            raise
        texts = []
        for stream in (stdout, stderr):
            stream.seek(0)
            texts.append(stream.read().decode())
    return subprocess.CompletedProcess(["holdfast", *args], code, *texts)


@functools.cache
def _address() -> str:
    """Start the process that forks; it ends with the tests."""
    folder = tempfile.TemporaryDirectory(prefix="holdfast-commands-")
    atexit.register(folder.cleanup)
    address = str(Path(folder.name) / "socket")
    process = subprocess.Popen(
        [sys.executable, str(_FORKING), address], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    atexit.register(process.kill)
    return address
