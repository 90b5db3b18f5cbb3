"""A flood: what one tenant that sends as much as it can does to the others.

All tenants share one server, one worker and one lane. The others submit an execution and wait for
its result, at a steady pace. The flood comes from a process of its own, which is stopped and
continued by turns, because the machine changes from minute to minute. It sends over many
connections without a pause. The answer is the ratio of the others' 99th percentile beside the flood
to the one without it, over all rounds; the ratio of each round says how sure that is.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import tempfile
import time
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from statistics import median, quantiles

import msgspec

from bench.http import Connection
from bench.processes import started
from holdfast import App, Context
from holdfast.engine import Engine, open_engine
from holdfast.testing.polling import wait_for

FLOODER = "flood"
OTHERS = ("acme", "beta", "gamma")
#: Users of each of the others, and their pause between two submissions.
USERS = 2
PAUSE_S = 0.05
CONNECTIONS = 64
SLOTS = 100
WARM_UP_S = 1.0
ROUNDS = 5
#: The worker runs what a round of the flood left behind in a fraction of this.
DRAIN_S = 60

#: Milliseconds by what was measured.
Took = dict[str, list[float]]

app: App = App()


@app.task
async def brief(ctx: Context) -> str:
    """A task that waits for something else for a moment."""
    await asyncio.sleep(0.005)
    return ctx.id


class _Caller:
    """A connection with the key of a tenant."""

    def __init__(self, connection: Connection, key: str) -> None:
        self._connection = connection
        self._headers = f"Authorization: Bearer {key}\r\n"

    @classmethod
    async def open(cls, address: tuple[str, int], key: str) -> _Caller:
        return cls(await Connection.open(address), key)

    def close(self) -> None:
        self._connection.close()

    async def submit(self) -> str:
        body = b'{"kind": "brief", "input": {}}'
        answer = await self._connection.call("POST", "/v1/executions", body, self._headers)
        return str(msgspec.json.decode(answer)["id"])

    async def result(self, execution: str) -> None:
        path = f"/v1/executions/{execution}/result?wait_ms=60000"
        await self._connection.call("GET", path, headers=self._headers)


async def measure_flood(seconds: float) -> dict[str, float]:
    """Measure the others without and beside the flood, in rounds."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        store = f"embedded://{folder}"
        worker = ("worker", "bench.load.flood:app", "--slots", str(SLOTS), "--keep-logs", "off")
        server = ("server", "--listen", "127.0.0.1:0")
        async with open_engine(store, maintenance=False) as engine:
            keys = {tenant: await _key(engine, tenant) for tenant in (FLOODER, *OTHERS)}
            async with (
                started(*worker, "--store", store),
                started(*server, "--store", store) as (_, said),
            ):
                host, port = said["url"].removeprefix("http://").split(":")
                return await _rounds(engine, (host, int(port)), keys, seconds)


async def _rounds(
    engine: Engine, address: tuple[str, int], keys: dict[str, str], seconds: float
) -> dict[str, float]:
    without, beside, counts = [], [], 0
    async with _flooding(address, keys[FLOODER]) as flood:
        for _ in range(ROUNDS):
            flood.send_signal(signal.SIGSTOP)
            await wait_for(lambda: _is_drained(engine), timeout_s=DRAIN_S)
            await _phase(address, keys, WARM_UP_S)
            without.append(await _phase(address, keys, seconds))
            flood.send_signal(signal.SIGCONT)
            await _phase(address, keys, WARM_UP_S)
            count = await _submitted(engine)
            beside.append(await _phase(address, keys, seconds))
            counts += await _submitted(engine) - count
    figures = {"flood, executions/s": counts / seconds / ROUNDS}
    for name in ("submit", "result"):
        calm = [took for phase in without for took in phase[name]]
        busy = [took for phase in beside for took in phase[name]]
        for when, took in (("without", calm), ("beside", busy)):
            figures[f"{name} {when}, p50 ms"] = median(took)
            figures[f"{name} {when}, p99 ms"] = _p99(took)
        figures[f"{name}, p99 beside / without"] = _p99(busy) / _p99(calm)
        for number, (one, other) in enumerate(zip(without, beside, strict=True), 1):
            figures[f"{name}, p99 ratio of round {number}"] = _p99(other[name]) / _p99(one[name])
    return figures


def _p99(took: list[float]) -> float:
    return quantiles(took, n=100)[98]


async def _is_drained(engine: Engine) -> bool:
    cells = await engine.count(tenant=FLOODER)
    return not any(one.count for one in cells if one.state in {"waiting", "active"})


async def _key(engine: Engine, tenant: str) -> str:
    _, secret = await engine.api_keys.create(roles=["submitter"], tenant=tenant)
    return secret


async def _submitted(engine: Engine) -> int:
    """Return how much the flood has submitted so far."""
    return sum(one.count for one in await engine.count(tenant=FLOODER))


async def _phase(address: tuple[str, int], keys: dict[str, str], seconds: float) -> Took:
    """Let the others work; returns the ms until their submissions and results were answered."""
    took: Took = {"submit": [], "result": []}
    ends_at = time.monotonic() + seconds

    async def work(key: str) -> None:
        caller = await _Caller.open(address, key)
        while time.monotonic() < ends_at:
            began = time.perf_counter()
            execution = await caller.submit()
            took["submit"].append((time.perf_counter() - began) * 1000)
            await caller.result(execution)
            took["result"].append((time.perf_counter() - began) * 1000)
            await asyncio.sleep(PAUSE_S)
        caller.close()

    await asyncio.gather(*(work(keys[tenant]) for tenant in OTHERS for _ in range(USERS)))
    return took


@contextlib.asynccontextmanager
async def _flooding(address: tuple[str, int], key: str) -> AsyncIterator[Process]:
    """Run the flood in a process of its own."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.load.flood", *map(str, address), key)
    )
    try:
        yield process
    finally:
        process.kill()
        await process.wait()


async def _flood(address: tuple[str, int], key: str) -> None:
    """Submit over many connections, without a pause, until the process is killed."""

    async def work() -> None:
        caller = await _Caller.open(address, key)
        while True:
            # What the server refuses is sent again at once.
            with contextlib.suppress(RuntimeError):
                await caller.submit()

    await asyncio.gather(*(work() for _ in range(CONNECTIONS)))


if __name__ == "__main__":
    # It stands for another machine: it must not take the processor from those it is measured with.
    os.nice(10)
    asyncio.run(_flood((sys.argv[1], int(sys.argv[2])), sys.argv[3]))
