"""The providers of packs: operations that they declare, and no others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from holdfast.errors import (
    AmbiguousProvider,
    HoldfastError,
    OperationDenied,
    ProviderFailed,
    ProviderNotFound,
    ProviderNotLoaded,
)
from holdfast.host import identifying
from holdfast.host.flows.runners import (
    Answer,
    ComponentCall,
    Invocation,
    NodeFailed,
    ProviderCall,
)
from holdfast.host.identifying import Identity, Inbound
from holdfast.host.packs.definition import HEALTH, IDENTIFY, Component, Provider
from holdfast.host.packs.packs import Bundle

#: What refuses a call before anything runs.
_REFUSALS: dict[str, type[HoldfastError]] = {
    refusal.code: refusal
    for refusal in (ProviderNotLoaded, ProviderNotFound, AmbiguousProvider, OperationDenied)
}
HEALTH_MS = 5_000


class ProviderNodes:
    """Calls the components behind providers. Whatever is not certain is refused."""

    def __init__(
        self, bundle: Bundle, run: Callable[[ComponentCall], Awaitable[Any]] | None
    ) -> None:
        self._run = run
        self._providers: dict[str, list[Provider]] = {}
        # All packs are searched: an overlay must not replace a provider unnoticed.
        for pack in bundle.packs:
            for provider in pack.definition.providers:
                self._providers.setdefault(provider.type, []).append(provider)
        self._components: Mapping[str, Component] = {
            name: component for name, (_, component) in bundle.components.items()
        }

    @property
    def all(self) -> list[Provider]:
        """The providers of all packs, those of the main pack first."""
        return [provider for found in self._providers.values() for provider in found]

    async def __call__(self, call: ProviderCall) -> Any:
        """Return the output of the operation; raises NodeFailed."""
        provider = self._provider(call.type)
        component = self._component(provider)
        # The list of the provider decides, and the component must have the operation as well.
        if call.operation not in provider.operations or call.operation not in component.operations:
            message = f"the provider {call.type} does not declare the operation {call.operation}"
            raise NodeFailed("operation_denied", message)
        return await self.run(provider, call.operation, call.input, call.about)

    async def run(self, provider: Provider, operation: str, given: Any, about: Invocation) -> Any:
        """Run an operation of a provider's component; raises NodeFailed."""
        component = self._component(provider)
        if self._run is None:
            raise NodeFailed("provider_not_loaded", "this host runs no components")
        return await self._run(
            ComponentCall(component=component.name, operation=operation, input=given, about=about)
        )

    def _component(self, provider: Provider) -> Component:
        component = self._components.get(provider.component)
        if component is None:
            words = f"the component {provider.component} of the provider {provider.type}"
            raise NodeFailed("provider_not_loaded", f"{words} is not here")
        return component

    def _provider(self, type_: str) -> Provider:
        providers = self._providers.get(type_, [])
        if not providers:
            raise NodeFailed("provider_not_found", f"no pack has a provider {type_}")
        if len(providers) > 1:
            raise NodeFailed("provider_ambiguous", f"several providers are called {type_}")
        return providers[0]


@dataclass(frozen=True, slots=True)
class Providers:
    """The providers of a loaded revision, for callers outside of flows."""

    nodes: ProviderNodes
    env: str
    tenant: str

    async def invoke(
        self, type_: str, operation: str, given: Any, *, key: str, timeout_ms: int
    ) -> Any:
        """Return the output of a declared operation.

        `key` is the idempotency key of the call. Raises ProviderNotFound, AmbiguousProvider,
        OperationDenied and ProviderNotLoaded if nothing ran, and ProviderFailed if it failed.
        """
        about = self._about(type_, key, timeout_ms)
        call = ProviderCall(type=type_, operation=operation, input=given, about=about)
        return await self._within(type_, timeout_ms, self.nodes(call))

    async def identify(
        self, inbound: Inbound, types: Sequence[str] | None, *, timeout_ms: int
    ) -> dict[str, Identity]:
        """Ask the providers of all packs whose a request is.

        Raises ProviderFailed for the first that fails, and AmbiguousIdentity.
        """
        providers = self.nodes.all
        asked = [one.type for one in providers] if types is None else types
        answers = [
            (one.type, await self._identity(one, inbound, timeout_ms))
            for one in providers
            if one.type in asked and one.identifies
        ]
        return identifying.merged(asked, answers)

    async def _identity(self, provider: Provider, inbound: Inbound, timeout_ms: int) -> Identity:
        about = self._about(provider.type, "", timeout_ms)
        run = self.nodes.run(provider, IDENTIFY, inbound.seen_by(provider), about)
        return identifying.read(provider.type, await self._within(provider.type, timeout_ms, run))

    async def ailing(self) -> str | None:
        """Return why a provider is not healthy; None if all are."""
        for provider in self.nodes.all:
            if HEALTH not in provider.operations:
                continue
            try:
                answer = await self.invoke(
                    provider.type, HEALTH, {}, key=HEALTH, timeout_ms=HEALTH_MS
                )
            except HoldfastError as error:
                return error.message
            except Exception as error:  # noqa: BLE001 - a provider that breaks is not healthy
                return f"the provider {provider.type} failed ({type(error).__name__})"
            if isinstance(answer, dict) and answer.get("ok") is False:
                reason = str(answer.get("reason") or "it gave no reason")
                return f"the provider {provider.type} is not healthy: {reason}"
        return None

    async def _within(self, type_: str, timeout_ms: int, call: Awaitable[Any]) -> Any:
        """Return what a call gives in time; raises what callers outside of flows know."""
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                output = await call
        except TimeoutError:
            message = f"the provider {type_} took longer than {timeout_ms} ms"
            raise ProviderFailed(message, type=type_, reason="timeout") from None
        except NodeFailed as failure:
            _refuse(type_, failure)
        return output.value if isinstance(output, Answer) else output

    def _about(self, type_: str, key: str, timeout_ms: int) -> Invocation:
        return Invocation(
            execution="",
            tenant=self.tenant,
            env=self.env,
            flow="",
            node=f"provider/{type_}",
            idempotency_key=key,
            timeout_ms=timeout_ms,
        )


def _refuse(type_: str, failure: NodeFailed) -> NoReturn:
    refusal = _REFUSALS.get(failure.code)
    if refusal is not None:
        raise refusal(str(failure), type=type_) from None
    message = f"the provider {type_} failed: {failure}"
    raise ProviderFailed(message, type=type_, reason=failure.code) from None
