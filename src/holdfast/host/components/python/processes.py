"""A process of a Python component: started, asked, killed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import Any

import msgspec

from holdfast.host.components.failures import CODES, failed, reported
from holdfast.host.components.limits import Limits
from holdfast.host.components.prepared import Prepared
from holdfast.host.components.requests import REQUEST_BYTES
from holdfast.host.flows.runners import NodeFailed

_CHILD = Path(__file__).with_name("child.py")
#: How long a process may take to start and to run the code of its component once.
START_S = 20.0
#: Room in a line besides the output or the request.
_ROOM = 1_024
_DRAIN_S = 1.0
_ENV = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}


class UnfitCode(Exception):
    """Code that cannot be loaded."""


class Process:
    """One process; it runs one call at a time."""

    def __init__(self, process: asyncio.subprocess.Process, limits: Limits) -> None:
        assert process.stdin is not None  # noqa: S101 - both are pipes
        assert process.stdout is not None  # noqa: S101
        self._process = process
        self._in = process.stdin
        self._out = process.stdout
        self._limits = limits

    @classmethod
    async def start(
        cls, source: str, file: str, operations: tuple[str, ...], limits: Limits
    ) -> Process:
        """Start a process and load the code; raises UnfitCode."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-B", str(_CHILD)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=_ENV,
            cwd="/",
            # Its own group, so that what it starts ends with it.
            start_new_session=True,
            limit=max(limits.output_bytes, REQUEST_BYTES) + _ROOM,
        )
        self = cls(process, limits)
        try:
            await self._load(source, file, operations)
        except BaseException:
            await self.kill()
            raise
        return self

    async def _load(self, source: str, file: str, operations: tuple[str, ...]) -> None:
        first = {
            "source": source,
            "file": file,
            "operations": operations,
            "memory_bytes": self._limits.memory_bytes,
        }
        try:
            async with asyncio.timeout(START_S):
                await self._send(msgspec.json.encode(first))
                answer = await self._receive()
        except TimeoutError:
            raise UnfitCode("the code takes too long to load") from None
        if answer is None:
            raise UnfitCode("its process ended while it loaded the code")
        if "ready" not in answer:
            raise UnfitCode(str(answer.get("unfit")))

    async def call(self, call: Prepared) -> bytes:
        """Run a call, and answer its requests; raises NodeFailed. The caller bounds the time."""
        cpu_s = -(-call.timeout_ms // 1000) + 1
        await self._send(call.envelope(cpu_s=cpu_s, output_bytes=self._limits.output_bytes))
        while True:
            answer = await self._receive()
            if answer is None:
                raise await self._death()
            if "request" in answer:
                await self._send(await call.requests.answer(msgspec.json.encode(answer["request"])))
            elif "output" in answer:
                return msgspec.json.encode(answer["output"])
            elif "failed" in answer:
                raise reported(answer["failed"])
            else:
                raise _broken(answer)

    async def _send(self, line: bytes) -> None:
        # A process that died is noticed when its answer is read.
        with contextlib.suppress(ConnectionError):
            self._in.write(line + b"\n")
            await self._in.drain()

    async def _receive(self) -> dict[str, Any] | None:
        try:
            line = await self._out.readuntil(b"\n")
        except asyncio.IncompleteReadError:
            return None
        except asyncio.LimitOverrunError:
            raise failed("component_output_too_large") from None
        try:
            answer: dict[str, Any] = msgspec.json.decode(line, type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            raise failed("component_invalid_output") from None
        return answer

    async def _death(self) -> NodeFailed:
        status = await self._process.wait()
        if status == -signal.SIGXCPU:
            return failed("component_timeout")
        words = f"signal {-status}" if status < 0 else f"status {status}"
        return failed("component_trapped", f"the process of the component ended with {words}")

    @property
    def is_alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.returncode is None

    async def kill(self) -> None:
        """End the process and what it started, at once."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
        self._in.close()
        # Reading to the end lets asyncio close the pipe, unless a descendant got away with it.
        with contextlib.suppress(Exception):
            async with asyncio.timeout(_DRAIN_S):
                while await self._out.read(65_536):
                    pass


def _broken(answer: dict[str, Any]) -> NodeFailed:
    """Return the failure that the process itself reports."""
    code, message = answer.get("broken"), answer.get("message")
    if code not in CODES:
        return failed("component_invalid_output")
    return failed(code, message if isinstance(message, str) else None)
