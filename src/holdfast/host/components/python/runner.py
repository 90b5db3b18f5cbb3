"""Runs Python components in a few processes each."""

from __future__ import annotations

import asyncio
import contextlib

from holdfast.host.components.failures import failed
from holdfast.host.components.limits import Limits
from holdfast.host.components.prepared import Prepared
from holdfast.host.components.python.processes import Process, UnfitCode
from holdfast.host.components.slots import Slots
from holdfast.host.flows.runners import NodeFailed


class PythonRunner:
    """A Python component. A process that fails in any way but its own words is replaced."""

    def __init__(
        self,
        source: str,
        file: str,
        operations: tuple[str, ...],
        limits: Limits,
        slots: Slots,
        *,
        processes: int,
    ) -> None:
        self._source = source
        self._file = file
        self._operations = operations
        self.limits = limits
        self._slots = slots
        self._room = asyncio.Semaphore(processes)
        #: One process is always left to other tenants.
        self._tenants = Slots(max(1, processes - 1))
        self._processes: set[Process] = set()
        self._idle: list[Process] = []
        self._is_closed = False
        self._replacing: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Start one process, so that code that cannot run is found now; raises UnfitCode."""
        self._idle.append(await self._started())

    async def _started(self) -> Process:
        process = await Process.start(self._source, self._file, self._operations, self.limits)
        if self._is_closed:
            await process.kill()
            raise UnfitCode("the component is closed")
        self._processes.add(process)
        return process

    async def _kill(self, process: Process) -> None:
        self._processes.discard(process)
        await process.kill()

    async def run(self, call: Prepared) -> bytes:
        """Run a call in a process that is idle or new."""
        tenant, timeout_ms = call.about.tenant, call.timeout_ms
        # The wider slot last: the tenant's other components do not wait for this one.
        async with self._tenants.taken(tenant, timeout_ms), self._slots.taken(tenant, timeout_ms):
            await self._enter(timeout_ms)
            return await self._run(call)

    async def _enter(self, timeout_ms: int) -> None:
        """Wait until fewer processes than there may be are busy."""
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await self._room.acquire()
        except TimeoutError:
            raise failed("component_busy") from None

    async def _run(self, call: Prepared) -> bytes:
        process: Process | None = None
        is_fit = False
        try:
            process = await self._take()
            async with asyncio.timeout(call.timeout_ms / 1000):
                output = await process.call(call)
            is_fit = True
        except TimeoutError:
            raise failed("component_timeout") from None
        except NodeFailed as failure:
            # The code failed, and the process waits for the next call.
            is_fit = process is not None and process.is_alive and failure.code not in _UNFIT
            raise
        finally:
            if process is None or is_fit:
                self._leave(process)
            else:
                self._replacing.add(task := asyncio.create_task(self._replace(process)))
                task.add_done_callback(self._replacing.discard)
        return output

    def _leave(self, process: Process | None) -> None:
        if process is not None:
            self._idle.append(process)
        self._room.release()

    async def _replace(self, process: Process) -> None:
        """Kill a process and start another, while the caller already has the failure."""
        fresh = None
        try:
            await self._kill(process)
            with contextlib.suppress(UnfitCode, OSError):
                fresh = await self._started()
        finally:
            self._leave(fresh)

    async def _take(self) -> Process:
        while self._idle:
            process = self._idle.pop()
            if process.is_alive:
                return process
            await self._kill(process)
        try:
            return await self._started()
        except (UnfitCode, OSError) as error:
            message = f"the process of the component does not start ({type(error).__name__})"
            raise failed("component_trapped", message) from None

    async def close(self) -> None:
        """Kill all processes; calls under way fail."""
        self._is_closed = True
        await asyncio.gather(*self._replacing, return_exceptions=True)
        for process in tuple(self._processes):
            await self._kill(process)


#: After these the process may hold what the next call should not meet.
_UNFIT = frozenset(
    {
        "component_memory",
        "component_stack_overflow",
        "component_trapped",
        "component_timeout",
        "component_output_too_large",
        "component_invalid_output",
    }
)
