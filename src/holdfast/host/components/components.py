"""The components of a pack: loaded once, called by flows."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, NoReturn

import msgspec
import wasmtime

from holdfast.host.components.failures import failed
from holdfast.host.components.limits import Limits
from holdfast.host.components.prepared import Runner, prepare
from holdfast.host.components.python.processes import UnfitCode
from holdfast.host.components.python.runner import PythonRunner
from holdfast.host.components.sandbox import Sandbox
from holdfast.host.components.services import Requests, Services
from holdfast.host.components.wasm import programs
from holdfast.host.components.wasm.programs import UnfitProgram
from holdfast.host.components.wasm.runner import WasmRunner
from holdfast.host.components.web import WebRunner
from holdfast.host.flows.runners import Answer, ComponentCall, NodeFailed
from holdfast.host.grants import Grant
from holdfast.host.packs.definition import Component, ComponentKind
from holdfast.host.packs.packs import Bundle, Pack, bundle
from holdfast.host.packs.problems import Problem, refuse
from holdfast.host.packs.signatures import Origin

#: Failures that a refusal of the host explains.
_EXPLAINED = frozenset({"component_failed", "component_trapped"})


class Components:
    """The components of a pack and its overlays: `Runners(call=components)`. Close them."""

    def __init__(
        self,
        runners: Mapping[str, tuple[Component, Grant, Runner]],
        services: Services,
    ) -> None:
        self._runners = runners
        self._services = services

    @classmethod
    async def load(
        cls,
        packs: Pack | Bundle,
        sandbox: Sandbox,
        services: Services | None = None,
        *,
        trusted: bool = False,
    ) -> Components:
        """Compile all components; raises InvalidPack for one that cannot run here.

        Python components run only if a trusted key has signed their pack, or if the caller calls
        all of these packs `trusted`.
        """
        services = services or Services()
        group = packs if isinstance(packs, Bundle) else bundle(packs)
        found: dict[str, tuple[Component, Grant, Runner]] = {}
        self = cls(found, services)
        try:
            for name, (pack, component) in group.components.items():
                is_trusted = trusted or pack.verdict.origin is Origin.TRUSTED
                loader = _Loader(pack, component, sandbox, services)
                runner = await loader.load(is_trusted=is_trusted)
                found[name] = (component, Grant.of(pack.definition), runner)
        except BaseException:
            await self.close()
            raise
        return self

    async def __call__(self, call: ComponentCall) -> Any:
        """Run a call; returns its output, or an Answer if it emitted replies. Raises NodeFailed."""
        if call.component not in self._runners:
            raise failed("unknown_component")
        component, grant, runner = self._runners[call.component]
        if call.operation not in component.operations:
            raise failed("unknown_operation")
        requests = Requests(self._services, grant, call.component, call.about)
        prepared = prepare(call, runner.limits, requests)
        try:
            value = _decoded(await runner.run(prepared), runner.limits, requests)
        except NodeFailed as failure:
            raise _explained(failure, requests) from None
        return Answer(value, requests.emitted) if requests.emitted else value

    async def close(self) -> None:
        """Stop all processes."""
        for _, _, runner in self._runners.values():
            await runner.close()


def _decoded(output: bytes, limits: Limits, requests: Requests) -> Any:
    """Return the output as a value."""
    if len(output) > limits.output_bytes:
        raise failed("component_output_too_large")
    try:
        value = msgspec.json.decode(output)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise failed("component_invalid_output") from None
    if requests.revealed.within(msgspec.json.encode(value)):
        raise failed("component_denied", "the output may not contain a secret")
    return value


def _explained(failure: NodeFailed, requests: Requests) -> NodeFailed:
    """Return a failure with the refusal that led to it, and without secrets."""
    denied = requests.denied
    if denied is not None and (failure.code in _EXPLAINED or failure.code == denied.code):
        return failed("component_denied", str(denied), details={"code": denied.code})
    return NodeFailed(
        requests.revealed.masked(failure.code),
        requests.revealed.masked(str(failure)),
        retryable=failure.retryable,
        retry_after_ms=failure.retry_after_ms,
        details=failure.details,
    )


class _Loader:
    """Loads one component."""

    def __init__(
        self, pack: Pack, component: Component, sandbox: Sandbox, services: Services
    ) -> None:
        self._pack = pack
        self._component = component
        self._sandbox = sandbox
        self._services = services
        settings = sandbox.settings
        self._limits = settings.limits.of(component.limits, settings.most)

    async def load(self, *, is_trusted: bool) -> Runner:
        """Return what runs it; raises InvalidPack."""
        component = self._component
        if component.kind is ComponentKind.WASM:
            return await self._wasm(self._pack.files[component.source])
        if component.kind is ComponentKind.PYTHON:
            if not is_trusted:
                message = "is Python, which only runs from a pack that a trusted key has signed"
                self._refuse(Problem.UNTRUSTED_COMPONENT, message)
            return await self._python(self._pack.files[component.source])
        if self._services.web is None:
            self._refuse(Problem.INVALID_COMPONENT, "needs the web, which this host does not use")
        return WebRunner(component.source, self._limits, self._services.web, self._sandbox.slots)

    async def _wasm(self, data: bytes) -> Runner:
        name, policy = self._component.name, self._sandbox.settings.wasi
        loop = asyncio.get_running_loop()
        try:
            program = await loop.run_in_executor(
                self._sandbox.threads,
                lambda: programs.load(self._sandbox.engine, data, name, self._limits, policy),
            )
        except (wasmtime.WasmtimeError, UnfitProgram) as error:
            self._refuse(Problem.INVALID_COMPONENT, f"does not load: {str(error)[:300]}")
        return WasmRunner(program, self._limits, self._sandbox)

    async def _python(self, data: bytes) -> Runner:
        component = self._component
        try:
            runner = PythonRunner(
                data.decode(),
                component.source,
                component.operations,
                self._limits,
                self._sandbox.slots,
                processes=self._sandbox.settings.processes,
            )
            await runner.start()
        except (UnfitCode, UnicodeDecodeError) as error:
            self._refuse(Problem.INVALID_COMPONENT, f"does not load: {error}")
        return runner

    def _refuse(self, problem: Problem, words: str) -> NoReturn:
        component = self._component
        refuse(problem, f"the component `{component.name}` {words}", file=component.source)
