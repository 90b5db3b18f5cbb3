"""Components: what a call costs when everything is warm, and how long they take to load."""

from __future__ import annotations

import asyncio
import time
from statistics import median
from typing import Any

import wasmtime

from holdfast.host.components import Components, Sandbox
from holdfast.host.flows.runners import ComponentCall, Invocation
from holdfast.host.packs import Origin, Pack, Verdict, manifest, reader

CALLS = 1_000
AT_ONCE = 16

#: A command whose output is its input.
_COMMAND = """(module
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 2)
  (func (export "_start")
    (i32.store (i32.const 0) (i32.const 64))
    (i32.store (i32.const 4) (i32.const 65536))
    (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
    (i32.store (i32.const 4) (i32.load (i32.const 8)))
    (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))"""
#: A component of the component model that does the same.
_COMPONENT = """(component
  (core module $Main
    (memory (export "memory") 2)
    (global $next (mut i32) (i32.const 64))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (global.get $next)
      (global.set $next (i32.add (global.get $next) (local.get 3))))
    (func (export "invoke") (param i32 i32) (param $input i32) (param $size i32) (result i32)
      (i32.store (i32.const 20) (local.get $input))
      (i32.store (i32.const 24) (local.get $size))
      (i32.const 16)))
  (core instance $main (instantiate $Main))
  (func (export "invoke") (param "operation" string) (param "input" string)
    (result (result string (error string)))
    (canon lift (core func $main "invoke") (memory (core memory $main "memory"))
      (realloc (core func $main "realloc")))))"""
_PYTHON = "def run(input, host):\n    return input\n"
_PACK = """
id: bench
version: 1.0.0
components:
  command: {kind: wasm, source: components/command.wasm, operations: [run]}
  model: {kind: wasm, source: components/model.wasm, operations: [run]}
  python: {kind: python, source: components/python.py, operations: [run]}
"""
_INPUT = {"id": "A1", "items": [{"name": "thing", "count": number} for number in range(5)]}


def _pack() -> Pack:
    files = {
        "pack.yaml": _PACK.encode(),
        "components/command.wasm": bytes(wasmtime.wat2wasm(_COMMAND)),
        "components/model.wasm": bytes(wasmtime.wat2wasm(_COMPONENT)),
        "components/python.py": _PYTHON.encode(),
    }
    definition = reader.read(files)
    described = manifest.describe(definition.id, definition.version, files)
    return Pack(definition, files, described, Verdict(Origin.TRUSTED))


def _call(component: str, tenant: str = "t") -> ComponentCall:
    about = Invocation(
        execution="e",
        tenant=tenant,
        env="local",
        flow="main",
        node="n",
        idempotency_key="k",
        timeout_ms=60_000,
    )
    return ComponentCall(component=component, operation="run", input=_INPUT, about=about)


async def measure_components() -> dict[str, float]:
    """Measure calls of components, one after the other and many at once."""
    sandbox = Sandbox()
    began = time.perf_counter()
    components = await Components.load(_pack(), sandbox)
    figures: dict[str, Any] = {"load of 3 components, ms": (time.perf_counter() - began) * 1_000}
    names = {
        "command": "WASM command",
        "model": "WASM component",
        "python": "Python process",
    }
    for name, title in names.items():
        times = await _times(components, name)
        figures[f"{title}, p50 ms"] = median(times)
        figures[f"{title}, p99 ms"] = times[int(len(times) * 0.99)]
        figures[f"{title}, calls/s"] = await _rate(components, name)
    await components.close()
    sandbox.close()
    return figures


async def _times(components: Components, name: str) -> list[float]:
    times = []
    for _ in range(CALLS):
        began = time.perf_counter()
        await components(_call(name))
        times.append((time.perf_counter() - began) * 1_000)
    return sorted(times)


async def _rate(components: Components, name: str) -> float:
    async def work(tenant: str) -> None:
        for _ in range(CALLS // AT_ONCE):
            await components(_call(name, tenant))

    began = time.perf_counter()
    await asyncio.gather(*(work(f"t{number}") for number in range(AT_ONCE)))
    return CALLS // AT_ONCE * AT_ONCE / (time.perf_counter() - began)


if __name__ == "__main__":
    for title, figure in asyncio.run(measure_components()).items():
        print(f"{title:32} {figure:10.2f}")
