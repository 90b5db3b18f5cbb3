"""Trials: a pack that a host loads for the first time is loaded in another process before.

A pack that uses up all memory, never ends or crashes while it loads would end the host, and again
after every restart. On trial it ends a process of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import signal
import sys
import zipfile
from collections.abc import Sequence

import msgspec

from holdfast.errors import InvalidPack
from holdfast.host.trial import NO_MEMORY

MEMORY_MB = 1024
#: Of processor time, and of time.
CPU_S, WALL_S = 20, 40.0
#: Packs without code that are smaller than this need no trial: the reader bounds what they can do.
SMALL_BYTES = 256 << 10
_PROGRAM = (sys.executable, "-m", "holdfast.host.trial")


class Trials:
    """Loads packs on trial, each of them once."""

    def __init__(
        self,
        *,
        program: Sequence[str] = _PROGRAM,
        memory_mb: int = MEMORY_MB,
        cpu_s: int = CPU_S,
        wall_s: float = WALL_S,
    ) -> None:
        self._program = program
        self._memory_mb = memory_mb
        self._cpu_s = cpu_s
        self._wall_s = wall_s
        #: The digests of archives that were loaded together, and did no harm.
        self._passed: set[tuple[str, ...]] = set()

    async def check(self, digests: tuple[str, ...], archives: Sequence[bytes]) -> None:
        """Load packs on trial if that was not done before; raises InvalidPack if it does harm."""
        if digests in self._passed or await asyncio.to_thread(_is_harmless, archives):
            return
        await self._run(msgspec.msgpack.encode(archives))
        self._passed.add(digests)

    async def _run(self, data: bytes) -> None:
        process = await asyncio.create_subprocess_exec(
            *(*self._program, str(self._memory_mb), str(self._cpu_s)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            async with asyncio.timeout(self._wall_s):
                await process.communicate(data)
        except TimeoutError:
            self._refuse(f"it takes longer than {self._wall_s:g} s to load")
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        if process.returncode:
            self._refuse(self._cause(process.returncode))

    def _cause(self, code: int) -> str:
        if code == NO_MEMORY:
            return f"it needs more than {self._memory_mb} MB of memory to load"
        if -code in {signal.SIGXCPU, signal.SIGKILL}:
            return f"it computes for longer than {self._cpu_s} s to load, or uses up all memory"
        if code < 0:
            return f"it ends the process that loads it ({signal.Signals(-code).name})"
        return f"it ends the process that loads it (with the exit code {code})"

    def _refuse(self, reason: str) -> None:
        message = f"the pack does not load: {reason}"
        raise InvalidPack(message, problem="unloadable", field="pack")


def _is_harmless(archives: Sequence[bytes]) -> bool:
    """Whether packs are small and have no code that is compiled."""
    size = 0
    for data in archives:
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                files = archive.infolist()
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
            # The host refuses it when it reads it.
            return True
        if any(file.filename.endswith(".wasm") for file in files):
            return False
        size += sum(file.file_size for file in files)
    return size <= SMALL_BYTES
