"""Runs WASM components in threads, so that the event loop never waits for them."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from holdfast.host.components.failures import failed
from holdfast.host.components.limits import Limits
from holdfast.host.components.prepared import Prepared
from holdfast.host.components.slots import Slots
from holdfast.host.components.wasm.calls import Call
from holdfast.host.components.wasm.programs import Program

#: How much later than its time limit a call may come to its end.
_GRACE_S = 1.0


class WasmRunner:
    """A WASM component."""

    def __init__(
        self, program: Program, limits: Limits, threads: ThreadPoolExecutor, slots: Slots
    ) -> None:
        self._program = program
        self.limits = limits
        self._threads = threads
        self._slots = slots

    async def run(self, call: Prepared) -> bytes:
        """Run a call in a thread; its slot is free again when the thread is."""
        loop = asyncio.get_running_loop()
        tenant = call.about.tenant
        own = Call(
            operation=call.operation,
            envelope=call.envelope(),
            input=call.input,
            limits=self.limits,
            timeout_ms=call.timeout_ms,
            requests=call.requests,
            loop=loop,
        )
        await self._slots.take(tenant, call.timeout_ms)
        try:
            future = loop.run_in_executor(self._threads, self._run, own)
        except BaseException:
            self._slots.give_back(tenant)
            raise
        future.add_done_callback(lambda _: self._slots.give_back(tenant))
        try:
            async with asyncio.timeout(call.timeout_ms / 1000 + _GRACE_S):
                return await asyncio.shield(future)
        except TimeoutError:
            future.add_done_callback(_ignored)
            raise failed("component_timeout") from None
        except asyncio.CancelledError:
            future.add_done_callback(_ignored)
            raise

    def _run(self, call: Call) -> bytes:
        call.start()
        return self._program.run(call)

    async def close(self) -> None:
        """Keep nothing."""


def _ignored(future: asyncio.Future[bytes]) -> None:
    """Look at an outcome that nobody waits for, so that it is not reported as forgotten."""
    if not future.cancelled():
        future.exception()
