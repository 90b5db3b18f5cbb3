"""Compiled WASM that can be called: a command of WASI, or a component of the component model."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec
import wasmtime
from wasmtime import component

from holdfast.host.components.failures import failed, reported
from holdfast.host.components.limits import Limits
from holdfast.host.components.wasm import calls, wasi
from holdfast.host.components.wasm.calls import Call
from holdfast.host.components.wasm.engine import Engine
from holdfast.host.components.wasm.wasi import WasiPolicy
from holdfast.host.flows.runners import NodeFailed

HOST_INTERFACE = "holdfast:component/host"
INVOKE = "invoke"
_START = "_start"
_TEXT = component.String()
#: Memory this near to its limit is what failed.
_FULL = 0.9


class UnfitProgram(Exception):
    """WASM that compiles, but is not a component."""


class Program(Protocol):
    """WASM that can be called; each call has a fresh instance."""

    def run(self, call: Call) -> bytes:
        """Return the output in JSON; raises NodeFailed. It blocks its thread."""
        ...


def load(engine: Engine, data: bytes, name: str, limits: Limits, policy: WasiPolicy) -> Program:
    """Compile and link; raises WasmtimeError, UnfitProgram."""
    code = engine.compile(data, metered=limits.fuel is not None)
    if isinstance(code, wasmtime.Module):
        return _Command(engine, code, name, limits, policy)
    return _Component(engine, code, limits)


class _Command:
    """A command of WASI: JSON on its standard input and output."""

    def __init__(
        self,
        engine: Engine,
        module: wasmtime.Module,
        name: str,
        limits: Limits,
        policy: WasiPolicy,
    ) -> None:
        exports = {one.name: one.type for one in module.exports}
        start, memory = exports.get(_START), exports.get("memory")
        is_start = isinstance(start, wasmtime.FuncType) and not (start.params or start.results)
        if not is_start or not isinstance(memory, wasmtime.MemoryType):
            raise UnfitProgram(f"the module must export `{_START}` and `memory`, as commands do")
        linker = engine.linker(metered=limits.fuel is not None)
        wasi.link(linker, module, policy)
        self._engine = engine
        # The engine keeps what is in use.
        self._module = module
        self._ready = linker.instantiate_pre(module)
        self._name = name
        self._limits = limits
        self._policy = policy

    def run(self, call: Call) -> bytes:
        """Run the command to its end."""
        status = 0
        with self._engine.store(self._limits, call.timeout_ms) as store:
            store.set_wasi(self._policy.config(self._name, call))
            size = 0
            try:
                calls.enter(call)
                instance = self._ready.instantiate(store)
                exports = instance.exports(store)
                memory, start = exports["memory"], exports[_START]
                assert isinstance(memory, wasmtime.Memory)  # noqa: S101 - both were checked
                assert isinstance(start, wasmtime.Func)  # noqa: S101
                try:
                    start(store)
                finally:
                    size = memory.data_len(store)
            except wasmtime.ExitTrap as exit_:
                status = exit_.code
            except (wasmtime.Trap, wasmtime.WasmtimeError) as error:
                raise _trapped(error, call, size) from None
            finally:
                calls.enter(None)
        return self._output(call, status)

    def _output(self, call: Call, status: int) -> bytes:
        if call.is_too_large:
            raise failed("component_output_too_large")
        output = bytes(call.output)
        if status == 0:
            return output
        try:
            error: Any = msgspec.json.decode(output)["error"]
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError, LookupError, TypeError):
            message = f"the command ended with status {status}"
            raise failed("component_failed", message, details={"status": status}) from None
        raise reported(error)


class _Component:
    """A component of the component model, which exports `invoke`.

    Its types are texts with JSON in them: wasmtime's bindings convert other types without a bound,
    and with a buffer that all threads share.
    """

    def __init__(self, engine: Engine, code: component.Component, limits: Limits) -> None:
        self._engine = engine
        self._code = code
        self._limits = limits
        linker = engine.component_linker(metered=limits.fuel is not None)
        _check_exports(code, linker.engine)
        with linker.root() as root, root.add_instance(HOST_INTERFACE) as host:
            host.add_func("call", _host_call)
        _check_imports(code, linker.engine)
        linker.allow_shadowing = True
        linker.define_unknown_imports_as_traps(code)
        self._linker = linker

    def run(self, call: Call) -> bytes:
        """Call `invoke`."""
        with self._engine.store(self._limits, call.timeout_ms) as store:
            try:
                calls.enter(call)
                instance = self._linker.instantiate(store, self._code)
                invoke = instance.get_func(store, INVOKE)
                assert invoke is not None  # noqa: S101 - the export was checked
                result = invoke(store, call.operation, call.input.decode())
            except (wasmtime.Trap, wasmtime.WasmtimeError) as error:
                raise _trapped(error, call, 0) from None
            finally:
                calls.enter(None)
        if result.tag == "ok":
            return str(result.payload).encode()
        raise _refused(str(result.payload))


def _refused(text: str) -> NodeFailed:
    """Return the failure that a component reports: JSON, or words."""
    try:
        return reported(msgspec.json.decode(text))
    except (msgspec.DecodeError, RecursionError):
        return reported(text)


def _host_call(_: Any, request: str) -> str:
    return calls.current().ask(request.encode()).decode()


def _check_exports(code: component.Component, engine: wasmtime.Engine) -> None:
    """Refuse a component without `invoke`, or with another type of it."""
    found = code.type.exports(engine).get(INVOKE)
    result = _signature(None if found is None else found.ty, 2)
    if not isinstance(result, component.ResultType) or (result.ok, result.err) != (_TEXT, _TEXT):
        words = "func(operation: string, input: string) -> result<string, string>"
        raise UnfitProgram(f"the component must export `{INVOKE}: {words}`")


def _check_imports(code: component.Component, engine: wasmtime.Engine) -> None:
    """Refuse what no host gives; calls of WASI trap when they are made."""
    for name, found in code.type.imports(engine).items():
        if name == HOST_INTERFACE:
            _check_host(found.ty, engine)
        elif not name.startswith("wasi:"):
            raise UnfitProgram(f"the component imports `{name}`, which hosts do not have")


def _check_host(kind: Any, engine: wasmtime.Engine) -> None:
    used = kind.exports(engine) if isinstance(kind, component.ComponentInstanceType) else {}
    for name, found in used.items():
        if name != "call" or _signature(found.ty, 1) != _TEXT:
            words = "`call: func(request: string) -> string`"
            raise UnfitProgram(f"`{HOST_INTERFACE}` has only {words}")


def _signature(kind: Any, texts: int) -> Any:
    """Return the result of a function that takes this many texts; None of any other."""
    if not isinstance(kind, component.FuncType):
        return None
    return kind.result if [one for _, one in kind.params] == [_TEXT] * texts else None


#: What wasmtime says of a trap, and the code for it.
_TRAPS = {
    "wasm trap: interrupt": "component_timeout",
    "all fuel consumed": "component_out_of_fuel",
    "call stack exhausted": "component_stack_overflow",
    "memory minimum size": "component_memory",
}


def _trapped(error: Exception, call: Call, memory: int) -> NodeFailed:
    """Return the failure that a trap means."""
    if call.is_too_large:
        return failed("component_output_too_large")
    text = str(error)
    for words, code in _TRAPS.items():
        if words in text:
            return failed(code)
    if call.is_late:
        return failed("component_timeout")
    out_of_memory = b"memory allocation of" in call.errors
    if out_of_memory or memory >= call.limits.memory_bytes * _FULL:
        return failed("component_memory")
    reason = text.rpartition("wasm trap: ")[2].splitlines()[0] if "wasm trap: " in text else ""
    return failed("component_trapped", f"the code trapped: {reason}" if reason else None)
