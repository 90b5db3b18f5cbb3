"""python -m bench.libs: which functions of the Lua libs work calls, how often and for how long.

The library is loaded with a wrapper around each of them. A time includes what the function calls,
and up to a microsecond for each wrapper: compare functions and versions, do not add times up.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Awaitable, Callable

from bench import workloads
from holdfast.engine import Engine, open_engine
from holdfast.model.executions import Claim, NewExecution
from holdfast.store.valkey import library

_FUNCTION = "hf_bench_profile"
# What a lib needs to be wrapped is not there while a library is loaded: the first call does it.
_PROFILE = """
local libs, profile = { %s }, {}
local function finish(row, start, ...)
  row[1], row[2] = row[1] + 1, row[2] + os.clock() - start
  return ...
end
local function wrap()
  for lib, entries in pairs(libs) do
    for name, fn in pairs(entries) do
      if type(fn) == 'function' then
        local row = { 0, 0 }
        profile[lib .. '.' .. name] = row
        entries[name] = function(...) return finish(row, os.clock(), fn(...)) end
      end
    end
  end
  libs = {}
end
server.register_function { function_name = '%s', callback = function()
  local rows = {}
  wrap()
  for name, row in pairs(profile) do
    if row[1] > 0 then rows[#rows + 1] = { name, row[1], math.floor(row[2] * 1e6) } end
    row[1], row[2] = 0, 0
  end
  return rows
end, flags = { 'no-writes' } }
"""


def profiling() -> str:
    """Return the library with a wrapper around each function of its libs."""
    tables = [source.table for source in library.sources().values() if source.is_lib]
    entries = ", ".join(f"{table} = {table}" for table in sorted(set(tables)))
    return library.load().code + _PROFILE % (entries, _FUNCTION)


async def _plain(engine: Engine, count: int) -> None:
    await workloads.submit(engine, count, b'"x"')
    await workloads.drain(engine, count)


async def _with_quota(engine: Engine, count: int) -> None:
    await engine.quotas.create("bench", max_concurrent=10**6)
    items = [NewExecution(kind="bench", quotas=("bench",)) for _ in range(count)]
    await engine.submit_many(items)
    await workloads.drain(engine, count)


async def _with_a_step(engine: Engine, count: int) -> None:
    await workloads.submit(engine, count, b'"x"')

    async def run(claim: Claim) -> None:
        await engine.checkpoint(claim.id, claim.lease, "step", b"1")
        await engine.complete(claim.id, claim.lease, b"1")

    async with engine.claimer(worker="bench") as claimer:
        while claims := await claimer.claim(workloads.CLAIM_BATCH, workloads.LEASE_MS):
            await asyncio.gather(*map(run, claims))


WORK: dict[str, Callable[[Engine, int], Awaitable[None]]] = {
    "plain": _plain,
    "with a quota": _with_quota,
    "with a step": _with_a_step,
}


async def measure(count: int, most: int) -> None:
    """Run the work on a fresh store and print the functions that took longest."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        async with open_engine(f"embedded://{folder}", maintenance=False) as engine:
            client = engine.store.client
            await client.call(["FUNCTION", "LOAD", "REPLACE", profiling()])
            await client.call(["FCALL_RO", _FUNCTION, "0"])
            for name, work in WORK.items():
                await work(engine, count)
                rows = await client.call(["FCALL_RO", _FUNCTION, "0"])
                print(f"\n{name + ', for each execution':<44}{'calls':>8}{'us':>8}")
                for function, calls, us in sorted(rows, key=lambda row: -row[2])[:most]:
                    print(f"  {function.decode():<42}{calls / count:>8.2f}{us / count:>8.2f}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.libs", description=__doc__)
    parser.add_argument("--count", type=int, default=1_000, help="executions of each sort")
    parser.add_argument("--most", type=int, default=12, help="functions to show of each")
    options = parser.parse_args()
    asyncio.run(measure(options.count, options.most))


if __name__ == "__main__":
    main()
