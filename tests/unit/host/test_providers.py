"""`provider` nodes fail closed."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from holdfast.host.flows.runners import ComponentCall, Invocation, NodeFailed, ProviderCall
from holdfast.host.packs import Bundle, bundle
from holdfast.host.providers import ProviderNodes
from tests.support.packs import files_of, pack_of

PACK = """\
id: shop
version: 1.0.0
entry: main
components:
  bot: {kind: wasm, source: components/orders.wasm, operations: [send, delete]}
providers:
  - {type: telegram, component: bot, operations: [send]}
"""
ABOUT = Invocation(execution="e", tenant="acme", env="prod", flow="main", node="tell",
                   idempotency_key="key", timeout_ms=5_000)  # fmt: skip


def _bundle() -> Bundle:
    return bundle(pack_of(files_of(PACK)))


def _changed(providers: tuple[Any, ...]) -> Bundle:
    """Return the packs with other providers, as a reader would never return them."""
    found = _bundle()
    definition = dataclasses.replace(found.main.definition, providers=providers)
    return dataclasses.replace(found, main=dataclasses.replace(found.main, definition=definition))


async def _call(packs: Bundle, type_: str, operation: str) -> tuple[Any, list[ComponentCall]]:
    calls: list[ComponentCall] = []

    async def run(call: ComponentCall) -> Any:
        calls.append(call)
        return {"ok": True}

    call = ProviderCall(type=type_, operation=operation, input={"text": "hi"}, about=ABOUT)
    try:
        return await ProviderNodes(packs, run)(call), calls
    except NodeFailed as failure:
        return failure.code, calls


async def test_a_declared_operation_runs_on_the_component() -> None:
    """The component gets the input and the key of the node."""
    output, (call,) = await _call(_bundle(), "telegram", "send")
    assert output == {"ok": True}
    assert (call.component, call.operation, call.input) == ("bot", "send", {"text": "hi"})
    assert call.about is ABOUT


@pytest.mark.parametrize(
    ("change", "type_", "operation", "code"),
    [
        ({}, "slack", "send", "provider_not_found"),
        ({}, "telegram", "delete", "operation_denied"),
        ({}, "telegram", "", "operation_denied"),
        ({"operations": ("send", "read")}, "telegram", "read", "operation_denied"),
        ({"component": "lost"}, "telegram", "send", "provider_not_loaded"),
    ],
)
async def test_other_operations_are_refused(
    change: dict[str, Any], type_: str, operation: str, code: str
) -> None:
    """No provider, an operation that is not declared or that the component lacks: nothing runs."""
    (provider,) = _bundle().main.definition.providers
    packs = _changed((dataclasses.replace(provider, **change),))
    assert await _call(packs, type_, operation) == (code, [])


async def test_two_providers_of_a_type_are_ambiguous() -> None:
    """An overlay cannot take the place of a provider unnoticed."""
    (provider,) = _bundle().main.definition.providers
    found = await _call(_changed((provider, provider)), "telegram", "send")
    assert found == ("provider_ambiguous", [])
