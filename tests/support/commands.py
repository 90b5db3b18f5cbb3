"""Runs `holdfast` in processes of their own that need not import the package first."""

from __future__ import annotations

import atexit
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

_FORKING = Path(__file__).with_name("forking.py")


class Command:
    """A command that was started, with the methods of a `Popen` that tests use."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lines = connection.makefile("rb")
        self.pid = int(self._lines.readline())
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, None while the command runs."""
        if self.returncode is None:
            self._read(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the exit code."""
        if self.returncode is None and not self._read(timeout):
            raise subprocess.TimeoutExpired("holdfast", timeout or 0)
        assert self.returncode is not None
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

    def _read(self, timeout: float | None) -> bool:
        self._connection.settimeout(timeout)
        try:
            line = self._lines.peek(1) and self._lines.readline()
        except (TimeoutError, BlockingIOError):
            return False
        if not line:
            return False
        self.returncode = int(line)
        self._lines.close()
        self._connection.close()
        return True


def start(
    args: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    streams: tuple[IO[Any], IO[Any], IO[Any]],
) -> Command:
    """Start `holdfast` with stdin, stdout and stderr."""
    request = {"args": list(args), "folder": str(folder), "environment": dict(environment)}
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(_address())
    message = json.dumps(request).encode() + b"\n"
    sent = socket.send_fds(connection, [message], [stream.fileno() for stream in streams])
    connection.sendall(message[sent:])
    return Command(connection)


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
            args, folder=folder, environment=environment, streams=(stdin, stdout, stderr)
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
