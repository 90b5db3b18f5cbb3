"""What WASM modules import: WASI, without files and sockets, and the module `holdfast`.

Wasmtime's WASI does most of it. These functions replace the ones that could wait without end, write
without end, or reach what the policy does not give.
"""

from __future__ import annotations

import os
import struct
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import wasmtime

from holdfast.errors import InvalidInput
from holdfast.host.components.requests import REQUEST_BYTES
from holdfast.host.components.wasm import calls
from holdfast.host.components.wasm.calls import Call, current

_WASI = "wasi_snapshot_preview1"
HOLDFAST = "holdfast"
#: Numbers of errors that WASI defines.
_OK, _BADF, _FAULT, _FBIG, _INVAL, _NOTCAPABLE = 0, 8, 21, 22, 28, 76
_MOST_PARTS = 1_024
_REALTIME, _MONOTONIC = 0, 1
_SUBSCRIPTION = struct.Struct("<QB7xI4xQQH6x")
_EVENT = struct.Struct("<QHB5xQH6x")
_ABSOLUTE = 1
_CLOCK = 0
_I32 = wasmtime.ValType.i32()
_I64 = wasmtime.ValType.i64()


@dataclass(frozen=True, slots=True, kw_only=True)
class WasiPolicy:
    """What commands may see of the machine: nothing, unless the host says otherwise."""

    #: Variables of the environment, with the values that commands get.
    env: Mapping[str, str] = field(default_factory=dict)
    #: Folders that commands may read, by the path at which they see them.
    folders: Mapping[str, Path] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for path in self.folders.values():
            if not path.is_dir():
                raise InvalidInput(f"folders: {path} is not a folder", field="folders")

    def config(self, name: str, call: Call) -> wasmtime.WasiConfig:
        """Return the configuration of one call."""
        config = wasmtime.WasiConfig()
        config.argv = [name, call.operation]
        config.env = list(self.env.items())
        for guest, path in self.folders.items():
            config.preopen_dir(str(path), guest, fs_mutable=False)
        if self.folders:
            _give_input(config, call.envelope)
        return config


def _give_input(config: wasmtime.WasiConfig, data: bytes) -> None:
    """Give the standard input to wasmtime's own `fd_read`; its file has no name."""
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("input")
        try:
            os.write(file, data)
            config.stdin_file = f"/proc/self/fd/{file}"
        finally:
            os.close(file)
        return
    with tempfile.NamedTemporaryFile() as named:
        named.write(data)
        named.flush()
        config.stdin_file = named.name


def link(linker: wasmtime.Linker, module: wasmtime.Module, policy: WasiPolicy) -> None:
    """Replace functions of WASI, and add those of the host."""
    _define(linker, _WASI, "fd_write", [_I32] * 4, _fd_write)
    if not policy.folders:
        # Without files there is only the input, which is faster from memory.
        _define(linker, _WASI, "fd_read", [_I32] * 4, _fd_read)
    _define(linker, _WASI, "poll_oneoff", [_I32] * 4, _poll_oneoff)
    _define(linker, _WASI, "clock_time_get", [_I32, _I64, _I32], _clock_time_get)
    _define(linker, HOLDFAST, "call", [_I32] * 2, _host_call)
    _define(linker, HOLDFAST, "take", [_I32] * 2, _host_take)
    for used in module.imports:
        kind = used.type
        if used.module != _WASI or not isinstance(kind, wasmtime.FuncType):
            continue
        is_file = (used.name or "").startswith("path_") and not policy.folders
        is_socket = (used.name or "").startswith("sock_")
        if (is_file or is_socket) and [str(one) for one in kind.results] == ["i32"]:
            what = ("file_denied", "a file") if is_file else ("socket_denied", "a socket")
            linker.define_func(_WASI, used.name or "", kind, _Denial(*what))


class _Denial:
    """A function that the policy does not give."""

    def __init__(self, code: str, what: str) -> None:
        self._code = code
        self._message = f"the component may not open {what}"

    def __call__(self, *_: int) -> int:
        current().requests.deny(self._code, self._message)
        return _NOTCAPABLE


def _define(
    linker: wasmtime.Linker,
    module: str,
    name: str,
    takes: list[wasmtime.ValType],
    run: Callable[..., int],
) -> None:
    kind = wasmtime.FuncType(takes, [_I32])
    linker.define_func(module, name, kind, run, access_caller=True)


class _Memory:
    """The memory of the code that calls; places outside of it are refused."""

    def __init__(self, caller: wasmtime.Caller) -> None:
        memory = caller.get("memory")
        self._memory = memory if isinstance(memory, wasmtime.Memory) else None
        self._caller = caller
        self.size = 0 if self._memory is None else self._memory.data_len(caller)

    def read(self, start: int, size: int) -> bytes | None:
        start &= 0xFFFF_FFFF
        size &= 0xFFFF_FFFF
        if self._memory is None or start + size > self.size:
            return None
        return bytes(self._memory.read(self._caller, start, start + size)) if size else b""

    def write(self, start: int, data: bytes) -> bool:
        start &= 0xFFFF_FFFF
        if self._memory is None or start + len(data) > self.size:
            return False
        if data:
            self._memory.write(self._caller, data, start)
        return True


def _fd_write(caller: wasmtime.Caller, file: int, parts: int, count: int, written: int) -> int:
    """Write to the output or the error output."""
    if file not in {1, 2}:
        return _BADF
    memory, call = _Memory(caller), current()
    places = memory.read(parts, 8 * count) if 0 <= count <= _MOST_PARTS else None
    if places is None:
        return _FAULT
    total = 0
    for start, size in struct.iter_unpack("<II", places):
        # What is too large is not even copied.
        if file == 1 and not call.has_room(size):
            return _stopped(caller)
        data = memory.read(start, size if file == 1 else min(size, calls.ERRORS_BYTES))
        if data is None:
            return _FAULT
        call.write(data, is_error=file != 1)
        total += size
    return _OK if memory.write(written, struct.pack("<I", total & 0xFFFF_FFFF)) else _FAULT


def _fd_read(caller: wasmtime.Caller, file: int, parts: int, count: int, found: int) -> int:
    """Read from the input."""
    if file != 0:
        return _BADF
    memory, call = _Memory(caller), current()
    places = memory.read(parts, 8 * count) if 0 <= count <= _MOST_PARTS else None
    if places is None:
        return _FAULT
    total = 0
    for start, size in struct.iter_unpack("<II", places):
        data = call.read(size)
        if not memory.write(start, data):
            return _FAULT
        total += len(data)
    return _OK if memory.write(found, struct.pack("<I", total)) else _FAULT


def _stopped(caller: wasmtime.Caller) -> int:
    """End the call as soon as its code continues: nothing that it still does counts."""
    # Callers have no such method, although they are stores in all that it uses.
    wasmtime.Store.set_epoch_deadline(caller, 0)  # type: ignore[arg-type]
    return _FBIG


def _time_ns(clock: int) -> int | None:
    return {_REALTIME: time.time_ns, _MONOTONIC: time.monotonic_ns}.get(clock, lambda: None)()


def _clock_time_get(caller: wasmtime.Caller, clock: int, _: int, place: int) -> int:
    """Return the time, by the clock that `poll_oneoff` waits for."""
    now = _time_ns(clock)
    if now is None:
        return _INVAL
    return _OK if _Memory(caller).write(place, struct.pack("<Q", now)) else _FAULT


def _poll_oneoff(caller: wasmtime.Caller, given: int, events: int, count: int, found: int) -> int:
    """Wait for clocks, but never longer than the call may take; files are always ready."""
    memory, call = _Memory(caller), current()
    if not 0 < count <= _MOST_PARTS:
        return _INVAL
    data = memory.read(given, _SUBSCRIPTION.size * count)
    if data is None:
        return _FAULT
    waits: list[tuple[float, int, int]] = []
    for user, kind, clock, at_ns, _, flags in _SUBSCRIPTION.iter_unpack(data):
        now = _time_ns(clock) if kind == _CLOCK else 0
        if now is None:
            return _INVAL
        wait_ns = at_ns - now if flags & _ABSOLUTE else at_ns
        waits.append((max(0, wait_ns) / 1e9 if kind == _CLOCK else 0.0, user, kind))
    shortest = min(wait for wait, _, _ in waits)
    if shortest > 0:
        call.stopping.wait(min(shortest, call.left_s))
    ready = [(user, kind) for wait, user, kind in waits if wait <= shortest]
    rows = b"".join(_EVENT.pack(user, 0, kind, 1, 0) for user, kind in ready)
    is_written = memory.write(events, rows) and memory.write(found, struct.pack("<I", len(ready)))
    return _OK if is_written else _FAULT


def _host_call(caller: wasmtime.Caller, start: int, size: int) -> int:
    """Ask the host; returns the size of the answer, -1 if the request is not in memory."""
    call = current()
    request = _Memory(caller).read(start, size) if 0 <= size <= REQUEST_BYTES else None
    if request is None:
        return -1
    call.answer = call.ask(request)
    return len(call.answer)


def _host_take(caller: wasmtime.Caller, start: int, size: int) -> int:
    """Copy the last answer into memory; returns its size, -1 if the place is too small."""
    call = current()
    if size < len(call.answer) or not _Memory(caller).write(start, call.answer):
        return -1
    taken, call.answer = len(call.answer), b""
    return taken
