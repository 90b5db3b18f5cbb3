"""Runs `provider` nodes: operations that a provider of the packs declares, and no others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from holdfast.host.flows.runners import ComponentCall, NodeFailed, ProviderCall
from holdfast.host.packs.definition import Component, Provider
from holdfast.host.packs.packs import Bundle


class ProviderNodes:
    """Calls the components behind providers. Whatever is not certain is refused."""

    def __init__(self, bundle: Bundle, run: Callable[[ComponentCall], Awaitable[Any]]) -> None:
        self._run = run
        self._providers: dict[str, list[Provider]] = {}
        # All packs are searched: an overlay must not replace a provider unnoticed.
        for pack in bundle.packs:
            for provider in pack.definition.providers:
                self._providers.setdefault(provider.type, []).append(provider)
        self._components: Mapping[str, Component] = {
            name: component for name, (_, component) in bundle.components.items()
        }

    async def __call__(self, call: ProviderCall) -> Any:
        """Return the output of the operation; raises NodeFailed."""
        provider = self._provider(call.type)
        component = self._components.get(provider.component)
        if component is None:
            message = f"the component {provider.component} of the provider {call.type} is not here"
            raise NodeFailed("provider_not_loaded", message)
        # The list of the provider decides, and the component must have the operation as well.
        if call.operation not in provider.operations or call.operation not in component.operations:
            message = f"the provider {call.type} does not declare the operation {call.operation}"
            raise NodeFailed("operation_denied", message)
        return await self._run(
            ComponentCall(
                component=component.name,
                operation=call.operation,
                input=call.input,
                about=call.about,
            )
        )

    def _provider(self, type_: str) -> Provider:
        providers = self._providers.get(type_, [])
        if not providers:
            raise NodeFailed("provider_not_found", f"no pack has a provider {type_}")
        if len(providers) > 1:
            raise NodeFailed("provider_ambiguous", f"several providers are called {type_}")
        return providers[0]
