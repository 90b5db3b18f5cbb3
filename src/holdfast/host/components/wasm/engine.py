"""The engines that compile and run WASM, and the clock that stops it."""

from __future__ import annotations

import hashlib
import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import TypeVar
from weakref import WeakValueDictionary

import wasmtime
from wasmtime import component

from holdfast.host.components.limits import Limits
from holdfast.host.components.wasm.cache import Cache

#: Endless loops are stopped this exactly.
TICK_S = 0.01
#: What WASM code may use of its thread's stack, which has at least 8 MiB on Linux.
STACK_BYTES = 512 * 1024
_TABLES = 8
_TABLE_ELEMENTS = 100_000
_INSTANCES = 32
#: The first bytes after the magic of a component; a module has another version and layer.
_COMPONENT = b"\0asm\x0d\x00\x01\x00"
Code = wasmtime.Module | component.Component
C = TypeVar("C", wasmtime.Module, component.Component)


class Engine:
    """Compiles once and runs many times. Fuel is counted only for code that has a limit of it."""

    def __init__(self, cache: Cache | None = None) -> None:
        self._cache = cache
        self._engines: dict[bool, wasmtime.Engine] = {}
        #: Code is kept as long as a component uses it.
        self._compiled: WeakValueDictionary[str, Code] = WeakValueDictionary()
        self._lock = threading.Lock()
        self._ticker = _Ticker(self._engines)
        #: Set when no call may continue.
        self.stopping: threading.Event = threading.Event()

    def _engine(self, *, metered: bool) -> wasmtime.Engine:
        if metered not in self._engines:
            self._engines[metered] = wasmtime.Engine(_config(metered=metered))
        return self._engines[metered]

    def compile(self, data: bytes, *, metered: bool) -> Code:
        """Compile a module or a component; raises wasmtime.WasmtimeError. It takes its time."""
        # Only binaries: a text would be compiled as well, and is not what the pack declares.
        if data[:4] != b"\0asm":
            raise wasmtime.WasmtimeError("the file is not WASM")
        key = f"{hashlib.sha256(data).hexdigest()}-{version('wasmtime')}-{int(metered)}"
        with self._lock:
            code: Code | None = self._compiled.get(key)
            if code is None:
                engine = self._engine(metered=metered)
                if data.startswith(_COMPONENT):
                    code = self._cached(component.Component, engine, key, data)
                else:
                    code = self._cached(wasmtime.Module, engine, key, data)
                self._compiled[key] = code
            return code

    def _cached(self, kind: type[C], engine: wasmtime.Engine, key: str, data: bytes) -> C:
        if self._cache is None:
            return kind(engine, data)
        if (code := self._cache.read(key)) is not None:
            try:
                return kind.deserialize(engine, code)
            except wasmtime.WasmtimeError:
                pass  # Another machine or setting compiled it.
        compiled = kind(engine, data)
        self._cache.write(key, bytes(compiled.serialize()))
        return compiled

    def linker(self, *, metered: bool) -> wasmtime.Linker:
        """Return a linker for modules, with WASI."""
        linker = wasmtime.Linker(self._engine(metered=metered))
        linker.define_wasi()
        linker.allow_shadowing = True
        return linker

    def component_linker(self, *, metered: bool) -> component.Linker:
        """Return a linker for components."""
        return component.Linker(self._engine(metered=metered))

    def stop(self, longest_ms: int) -> None:
        """End all calls, of which none has more time than this."""
        self.stopping.set()
        for engine in tuple(self._engines.values()):
            for _ in range(_ticks(longest_ms)):
                engine.increment_epoch()

    @contextmanager
    def store(self, limits: Limits, timeout_ms: int) -> Iterator[wasmtime.Store]:
        """Give the memory of one call, with its limits; it is gone when the block ends."""
        metered = limits.fuel is not None
        store = wasmtime.Store(self._engine(metered=metered))
        try:
            store.set_limits(
                memory_size=limits.memory_bytes,
                table_elements=_TABLE_ELEMENTS,
                instances=_INSTANCES,
                tables=_TABLES,
                memories=1,
            )
            if limits.fuel is not None:
                store.set_fuel(limits.fuel)
            with self._ticker.running():
                store.set_epoch_deadline(_ticks(timeout_ms))
                if self.stopping.is_set():
                    store.set_epoch_deadline(0)
                yield store
        finally:
            store.close()


def _ticks(ms: int) -> int:
    """Return how many ticks a time is; one more, because the next one comes at any moment."""
    return math.ceil(ms / 1000 / TICK_S) + 1


def _config(*, metered: bool) -> wasmtime.Config:
    config = wasmtime.Config()
    config.epoch_interruption = True
    config.consume_fuel = metered
    config.max_wasm_stack = STACK_BYTES
    config.wasm_component_model = True
    # Compiling leaves the other cores to calls.
    config.parallel_compilation = False
    # Each of these has memory that the limits do not count, or threads of its own.
    config.wasm_threads = False
    config.wasm_gc = False
    config.wasm_multi_memory = False
    config.wasm_memory64 = False
    return config


class _Ticker:
    """Advances the time of all engines while calls run, in a thread of its own."""

    def __init__(self, engines: dict[bool, wasmtime.Engine]) -> None:
        self._engines = engines
        self._calls = 0
        self._wake = threading.Condition()
        self._is_alive = False

    @contextmanager
    def running(self) -> Iterator[None]:
        """Tick while the block runs."""
        with self._wake:
            self._calls += 1
            if not self._is_alive:
                self._is_alive = True
                threading.Thread(target=self._tick, name="wasm-ticker", daemon=True).start()
        try:
            yield
        finally:
            with self._wake:
                self._calls -= 1

    def _tick(self) -> None:
        """Tick by the clock; a thread that was kept waiting catches up. It ends when idle."""
        due = time.monotonic()
        idle = 0.0
        while True:
            time.sleep(max(0.0, due + TICK_S - time.monotonic()))
            now = time.monotonic()
            while due + TICK_S <= now:
                due += TICK_S
                for engine in tuple(self._engines.values()):
                    engine.increment_epoch()
            with self._wake:
                idle = 0.0 if self._calls else idle + TICK_S
                if idle > 1:
                    self._is_alive = False
                    return
