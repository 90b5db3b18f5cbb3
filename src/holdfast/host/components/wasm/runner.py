"""Runs WASM components in threads, so that the event loop never waits for them."""

from __future__ import annotations

import asyncio

from holdfast.host.components.failures import failed
from holdfast.host.components.limits import Limits
from holdfast.host.components.prepared import Prepared
from holdfast.host.components.sandbox import Sandbox
from holdfast.host.components.wasm.calls import Call
from holdfast.host.components.wasm.programs import Program

#: How much later than its time limit a call may come to its end.
_GRACE_S = 1.0


class WasmRunner:
    """A WASM component."""

    def __init__(self, program: Program, limits: Limits, sandbox: Sandbox) -> None:
        self._program = program
        self.limits = limits
        self._sandbox = sandbox

    async def run(self, call: Prepared) -> bytes:
        """Run a call in a thread; its slot is free again when the thread is."""
        loop = asyncio.get_running_loop()
        tenant, slots = call.about.tenant, self._sandbox.slots
        own = Call(
            operation=call.operation,
            envelope=call.envelope(),
            input=call.input,
            limits=self.limits,
            timeout_ms=call.timeout_ms,
            requests=call.requests,
            loop=loop,
            stopping=self._sandbox.engine.stopping,
        )
        await slots.take(tenant, call.timeout_ms)
        try:
            future = loop.run_in_executor(self._sandbox.threads, self._run, own)
        except BaseException:
            slots.give_back(tenant)
            raise
        future.add_done_callback(lambda _: slots.give_back(tenant))
        try:
            async with asyncio.timeout(call.timeout_ms / 1000 + _GRACE_S):
                return await asyncio.shield(future)
        except TimeoutError:
            raise failed("component_timeout" if own.has_started else "component_busy") from None
        except asyncio.CancelledError:
            if future.cancelled():
                # The sandbox closes, and the caller does not.
                raise failed("component_busy") from None
            raise
        finally:
            own.is_abandoned = True
            future.add_done_callback(_ignored)

    def _run(self, call: Call) -> bytes:
        if call.is_abandoned:
            return b""
        call.start()
        return self._program.run(call)

    async def close(self) -> None:
        """Keep nothing."""


def _ignored(future: asyncio.Future[bytes]) -> None:
    """Look at an outcome that no caller waits for, so that it is not reported as forgotten."""
    if not future.cancelled():
        future.exception()
